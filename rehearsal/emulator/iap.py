"""The server's side of Google's IAP relay for TCP: websockets at /v4/connect and /v4/reconnect.

The protocol is that of gcloud's client (googlecloudsdk/api_lib/compute/iap_tunnel_websocket*.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from dataclasses import dataclass
from typing import Protocol

from starlette.responses import PlainTextResponse
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from rehearsal.emulator.iap_session import (
    CONNECT_FAILED,
    LOOKUP_FAILED,
    NORMAL,
    NOT_AUTHORIZED,
    SESSION_UNKNOWN,
    CloseSession,
    Session,
    close,
)
from tpuwright.iap.frames import SUBPROTOCOL, ConnectSuccess, ReconnectSuccess, encode

log = logging.getLogger(__name__)
CONNECT_SECONDS = 10.0
KEEP_SECONDS = 60.0
"""How long a session waits for its client to come back."""


@dataclass(frozen=True)
class Wanted:
    """What a client asks for. `instance` is a name, `interface` such as nic0."""

    project: str
    zone: str
    instance: str
    interface: str
    port: int


@dataclass(frozen=True)
class Target:
    """Where that is. `admitted`: a firewall rule lets IAP's addresses (35.235.240.0/20) in to the port."""

    address: str
    admitted: bool


class Directory(Protocol):
    """What the relay has to know of the cloud."""

    def caller(self, token: str) -> str | None:
        """Whose access token it is; None: nobody's."""
        ...

    def permitted(self, caller: str, wanted: Wanted) -> bool:
        """Whether the caller may open tunnels to the instance (iap.tunnelInstances.accessViaIAP)."""
        ...

    def find(self, wanted: Wanted) -> Target | None:
        """The instance's address; None when there is no such instance."""
        ...


class IapRelay:
    """The relay, and the sessions that it keeps for clients that lost their websocket."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._sessions: dict[str, Session] = {}
        self._sweeper: asyncio.Task[None] | None = None
        self.routes = [WebSocketRoute("/v4/connect", self._connect), WebSocketRoute("/v4/reconnect", self._reconnect)]

    async def close(self) -> None:
        """End all sessions."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        for session in self._sessions.values():
            session.end(1001, "the relay ends")
        self._sessions.clear()

    async def _connect(self, socket: WebSocket) -> None:
        caller = await self._admit(socket)
        if caller is None:
            return
        wanted = _wanted(socket)
        if wanted is None:
            await _deny(socket, 400, "project, zone, instance, interface and port are needed.")
            return
        await socket.accept(SUBPROTOCOL)
        try:
            reader, writer = await self._open(caller, wanted)
        except CloseSession as stop:
            log.info("tunnel to %s refused: %d %s", wanted, stop.code, stop.reason)
            await close(socket, stop.code, stop.reason)
            return
        session = Session(reader, writer)
        self._sessions[session.sid] = session
        if self._sweeper is None or self._sweeper.done():
            self._sweeper = asyncio.create_task(self._sweep())
        await socket.send_bytes(encode(ConnectSuccess(session.sid.encode())))
        await self._serve(session, socket)

    async def _reconnect(self, socket: WebSocket) -> None:
        if await self._admit(socket) is None:
            return
        await socket.accept(SUBPROTOCOL)
        session = self._sessions.get(socket.query_params.get("sid", ""))
        if session is None:
            await close(socket, SESSION_UNKNOWN, "session unknown")
            return
        ack = socket.query_params.get("ack", "")
        try:
            session.confirm(int(ack) if ack.isdecimal() else -1)
        except CloseSession as stop:
            await close(socket, stop.code, stop.reason)
            return
        await socket.send_bytes(encode(ReconnectSuccess(session.received)))
        await self._serve(session, socket)

    async def _admit(self, socket: WebSocket) -> str | None:
        """The caller; None when the handshake was answered with a refusal."""
        if SUBPROTOCOL not in socket.scope.get("subprotocols", []):
            await _deny(socket, 400, f"The subprotocol {SUBPROTOCOL} is needed.")
            return None
        scheme, _, token = socket.headers.get("authorization", "").partition(" ")
        caller = self._directory.caller(token.strip()) if scheme.lower() == "bearer" else None
        if caller is None:
            await _deny(socket, 401, "A valid access token is needed.")
        return caller

    async def _open(self, caller: str, wanted: Wanted) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if not self._directory.permitted(caller, wanted):
            raise CloseSession(NOT_AUTHORIZED, "not authorized")
        target = self._directory.find(wanted)
        if target is None:
            raise CloseSession(LOOKUP_FAILED, "Failed to lookup instance")
        if not target.admitted:
            raise CloseSession(CONNECT_FAILED, "failed to connect to backend")
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return await asyncio.open_connection(target.address, wanted.port)
        except OSError as error:
            raise CloseSession(CONNECT_FAILED, "failed to connect to backend") from error

    async def _serve(self, session: Session, socket: WebSocket) -> None:
        await session.serve(socket)
        if session.ended is not None:
            self._sessions.pop(session.sid, None)

    async def _sweep(self) -> None:
        while self._sessions:
            await asyncio.sleep(KEEP_SECONDS / 4)
            for sid, session in list(self._sessions.items()):
                left = session.detached_since
                if left is not None and time.monotonic() - left > KEEP_SECONDS:
                    session.end(NORMAL)
                    del self._sessions[sid]


def _wanted(socket: WebSocket) -> Wanted | None:
    query = socket.query_params
    project, zone, instance, interface, port = (
        query.get(name, "") for name in ("project", "zone", "instance", "interface", "port")
    )
    if not (project and zone and instance and interface and port.isdecimal() and 0 < int(port) < 65536):
        return None
    return Wanted(project, zone, instance, interface, int(port))


async def _deny(socket: WebSocket, status: int, text: str) -> None:
    """Answer the handshake itself, as a server that speaks no websocket would."""
    with contextlib.suppress(RuntimeError):
        await socket.send_denial_response(PlainTextResponse(text + "\n", status))
