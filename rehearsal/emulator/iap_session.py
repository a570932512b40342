"""One relayed connection: it belongs to no websocket, so that a client that lost one goes on with the next."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from tpuwright.iap.frames import ACK_AFTER, MAX_DATA, Ack, Data, FrameError, decode, encode

WINDOW = 1024 * 1024
"""Bytes towards the client that may be unconfirmed before the destination is no longer read."""

# Close codes: 4003, 4004 from gcloud's client, the others from Google's IAP Desktop.
NORMAL = 1000
SESSION_UNKNOWN = 4001
CONNECT_FAILED = 4003
BAD_ACK = 4005
WRITE_FAILED = 4009
READ_FAILED = 4010
INVALID_DATA = 4013
NOT_AUTHORIZED = 4033
LOOKUP_FAILED = 4047

_READ_SIZE = 4 * MAX_DATA


class CloseSession(Exception):
    """Ends the session with a close code and a reason."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


class Session:
    """A connection to an instance's port, and what its client has not confirmed yet."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.sid = secrets.token_urlsafe(32)
        self.received = 0
        """Bytes from the client that the destination has been given."""
        self.detached_since: float | None = None
        self.ended: CloseSession | None = None
        self._reader = reader
        self._writer = writer
        self._acknowledged = 0
        self._unconfirmed = bytearray()
        self._confirmed = 0
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._socket: WebSocket | None = None
        self._pump = asyncio.create_task(self._read_destination())

    def confirm(self, total: int) -> None:
        """The client has received `total` bytes in all. Raises CloseSession when that cannot be."""
        if not self._confirmed <= total <= self._confirmed + len(self._unconfirmed):
            raise CloseSession(BAD_ACK, "invalid ack")
        del self._unconfirmed[: total - self._confirmed]
        self._confirmed = total
        if len(self._unconfirmed) < WINDOW:
            self._room.set()

    async def serve(self, socket: WebSocket) -> None:
        """Relay over an accepted websocket until it is lost or the session ends, and close it then.

        A websocket that still serves the session is closed: its client would not have come back otherwise.
        """
        former, self._socket = self._socket, socket
        if former is not None:
            await close(former, 1001, "taken over")
        self.detached_since = None
        # What an ack confirmed on another websocket counts; the rest is sent again.
        sender = asyncio.create_task(self._send(socket))
        receiver = asyncio.create_task(self._receive(socket))
        try:
            await asyncio.wait((sender, receiver), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sender, receiver):
                task.cancel()
            await asyncio.gather(sender, receiver, return_exceptions=True)
        if self._socket is socket:
            self._socket = None
            self.detached_since = time.monotonic()
        if self.ended is not None:
            await close(socket, self.ended.code, self.ended.reason)

    def end(self, code: int = NORMAL, reason: str = "") -> None:
        """End the session: the destination is closed, the client told what is still on its way to it, then the end."""
        if self.ended is None:
            self.ended = CloseSession(code, reason)
        self._pump.cancel()
        self._writer.close()
        self._wake.set()

    async def _read_destination(self) -> None:
        try:
            while content := await self._reader.read(_READ_SIZE):
                self._unconfirmed += content
                self._wake.set()
                if len(self._unconfirmed) >= WINDOW:
                    self._room.clear()
                    await self._room.wait()
        except OSError:
            self.end(READ_FAILED, "destination read failed")
        else:
            self.end()

    async def _send(self, socket: WebSocket) -> None:
        position = self._confirmed
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            while True:
                self._wake.clear()
                if self.received - self._acknowledged > ACK_AFTER:
                    self._acknowledged = self.received
                    await socket.send_bytes(encode(Ack(self.received)))
                start = position - self._confirmed
                content = bytes(self._unconfirmed[start : start + MAX_DATA])
                if content:
                    position += len(content)
                    await socket.send_bytes(encode(Data(content)))
                elif self.ended is not None:
                    return
                else:
                    await self._wake.wait()

    async def _receive(self, socket: WebSocket) -> None:
        try:
            while True:
                message = await socket.receive()
                if message["type"] == "websocket.disconnect":
                    # 1005 as well is a lost connection: uvicorn says so of one that broke.
                    if message.get("code") == NORMAL:
                        self.end()
                    return
                await self._take(message.get("bytes"))
        except CloseSession as stop:
            self.end(stop.code, stop.reason)

    async def _take(self, message: bytes | None) -> None:
        try:
            frame = decode(message or b"")
        except FrameError as error:
            raise CloseSession(INVALID_DATA, str(error)) from error
        match frame:
            case Data(payload):
                if len(payload) > MAX_DATA:
                    raise CloseSession(INVALID_DATA, f"a DATA frame may carry {MAX_DATA} bytes")
                try:
                    self._writer.write(payload)
                    await self._writer.drain()
                except OSError as error:
                    raise CloseSession(WRITE_FAILED, "destination write failed") from error
                self.received += len(payload)
                self._wake.set()
            case Ack(confirmed):
                self.confirm(confirmed)
            case _:
                # As gcloud's client does with a tag that it does not know.
                pass


async def close(socket: WebSocket, code: int, reason: str) -> None:
    """Close a websocket, unless its client has left."""
    if socket.client_state is WebSocketState.CONNECTED and socket.application_state is WebSocketState.CONNECTED:
        with contextlib.suppress(RuntimeError, WebSocketDisconnect):
            await socket.close(code, reason)
