"""What every plugin process shares: serve on a free port of loopback, say it, end with the engine and on signals."""

import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import grpc  # type: ignore[import-untyped,unused-ignore]

# The engine sends a whole program's properties in one message: the SDK uses the same limit (400 MB).
_CHANNEL_OPTIONS = [
    ("grpc.max_receive_message_length", 400 * 1024 * 1024),
    ("grpc.max_send_message_length", 400 * 1024 * 1024),
    ("grpc.so_reuseport", 0),
]
_PARENT_CHECK_SECONDS = 1.0
_GRACE_SECONDS = 2.0


def serve(register: Callable[[grpc.Server], None], cancel: Callable[[], None], threads: int) -> None:
    """Serve until the engine is gone or a signal comes, then `cancel()` what is under way.

    The port is the first line on standard output, as the engine expects of a plugin.

    Args:
        register: adds the servicer to the server.
        cancel: ends what is under way; called at most once, from the main thread.
        threads: calls that may run at once; each waiting create holds one.
    """
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    server = grpc.server(ThreadPoolExecutor(max_workers=threads), options=_CHANNEL_OPTIONS)
    register(server)
    port = server.add_insecure_port("127.0.0.1:0")
    engine = os.getppid()
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    # A killed engine sends nothing: the plugin notices that it has another parent.
    while not stop.wait(_PARENT_CHECK_SECONDS) and os.getppid() == engine:
        pass
    cancel()
    server.stop(_GRACE_SECONDS).wait(_GRACE_SECONDS)
    sys.stdout.flush()
    # Pool threads that still wait for an answer must not hold the process.
    os._exit(0)
