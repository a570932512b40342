"""Lines for the user's screen, through the engine."""

import threading

import grpc  # type: ignore[import-untyped,unused-ignore]
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc


class EngineLog:
    """Connects when the first line is said; most runs say none."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._stub: engine_pb2_grpc.EngineStub | None = None
        self._lock = threading.Lock()

    def status(self, text: str) -> None:
        """Show a passing line: it is on the screen while it is true and in no summary."""
        if not self._address:
            return
        with self._lock:
            if self._stub is None:
                self._stub = engine_pb2_grpc.EngineStub(grpc.insecure_channel(self._address))
        request = engine_pb2.LogRequest(severity=engine_pb2.INFO, message=text, ephemeral=True)
        # Whether the line reaches the screen decides nothing, so nobody waits for it.
        self._stub.Log.future(request, timeout=2)
