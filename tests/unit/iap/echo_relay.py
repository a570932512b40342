"""A small relay that speaks Google's subprotocol and can be told to misbehave; the far end echoes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.server import Request, Response, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from tpuwright.iap.frames import (
    MAX_DATA,
    SUBPROTOCOL,
    Ack,
    ConnectSuccess,
    Data,
    ReconnectSuccess,
    decode,
    encode,
)


@dataclass
class EchoRelay:
    """Echoes what it receives. ``lose_after``: byte counts at which the websocket is cut without a word."""

    token: str = "secret"
    refuse_with: int | None = None
    close_with: int | None = None
    lose_after: list[int] = field(default_factory=list)
    queries: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    largest: int = 0
    acknowledged: int = 0
    received: int = 0
    echo: bytearray = field(default_factory=bytearray)
    url: str = ""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[EchoRelay]:
        async with serve(
            self._talk, "127.0.0.1", 0, subprotocols=[SUBPROTOCOL], process_request=self._admit, max_size=None
        ) as server:
            port = next(iter(server.sockets)).getsockname()[1]
            self.url = f"ws://127.0.0.1:{port}/v4"
            yield self

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        if self.refuse_with:
            return connection.respond(HTTPStatus(self.refuse_with), "no\n")
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return connection.respond(HTTPStatus.UNAUTHORIZED, "no\n")
        return None

    async def _talk(self, socket: ServerConnection) -> None:
        parts = urlsplit(socket.request.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        self.queries.append((parts.path, query))
        if self.close_with:
            await socket.close(self.close_with, "told to")
            return
        if parts.path.endswith("/reconnect"):
            await socket.send(encode(ReconnectSuccess(self.received)))
            sent = int(query["ack"])
        else:
            await socket.send(encode(ConnectSuccess(b"sid-1")))
            sent = 0
        try:
            await self._echo(socket, sent)
        except ConnectionClosed:
            return

    async def _echo(self, socket: ServerConnection, sent: int) -> None:
        while True:
            while sent < len(self.echo):
                piece = bytes(self.echo[sent : sent + MAX_DATA])
                await socket.send(encode(Data(piece)))
                sent += len(piece)
            frame = decode(await socket.recv())
            if isinstance(frame, Ack):
                assert frame.confirmed <= sent
                self.acknowledged = frame.confirmed
            elif isinstance(frame, Data):
                self.largest = max(self.largest, len(frame.payload))
                self.received += len(frame.payload)
                self.echo += frame.payload
                await socket.send(encode(Ack(self.received)))
                if self.lose_after and self.received >= self.lose_after[0]:
                    self.lose_after.pop(0)
                    socket.transport.abort()
                    return


class Collected:
    """A writer that keeps what it is given, and knows when ``wanted`` bytes are there."""

    def __init__(self, wanted: int) -> None:
        self.data = bytearray()
        self._wanted = wanted
        self.complete = asyncio.Event()

    def write(self, data: bytes) -> None:
        self.data += data
        if len(self.data) >= self._wanted:
            self.complete.set()

    async def drain(self) -> None:
        await asyncio.sleep(0)
