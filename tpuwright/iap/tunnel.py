"""One tunnel between standard input and output and a port of an instance, over a websocket to IAP's relay."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol
from urllib.parse import urlencode, urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.typing import Origin, Subprotocol

from tpuwright.cloud.credentials import access_token
from tpuwright.iap.errors import TunnelError, Where, closed, refused, unreachable
from tpuwright.iap.frames import (
    MAX_DATA,
    SUBPROTOCOL,
    Ack,
    ConnectSuccess,
    Data,
    FrameError,
    ReconnectSuccess,
    decode,
    encode,
)
from tpuwright.iap.session import ProtocolError, Session

DEFAULT_URL: Final = "wss://tunnel.cloudproxy.app/v4"
OPEN_SECONDS: Final = 60.0
RECONNECT_SECONDS: Final = 60.0
#: Sent but not confirmed: the local side waits beyond this, so that a stalled relay does not fill the memory.
WINDOW: Final = 8 * 1024 * 1024
#: The relay asks for a new login: the session goes on with a fresh token.
_REAUTHENTICATE: Final = 4004
#: Closes that say nothing against the session: the websocket was lost, or its server is going away.
_LOST: Final = frozenset({1001, 1005, 1006, 1011, 1012, 1013, 1014, _REAUTHENTICATE})


class Reader(Protocol):
    """The local side's input."""

    async def read(self, n: int) -> bytes:
        """At most ``n`` bytes, b"" at the end."""
        ...


class Writer(Protocol):
    """The local side's output."""

    def write(self, data: bytes) -> None:
        """Queue ``data``."""
        ...

    async def drain(self) -> None:
        """Wait until there is room."""
        ...


class Tunnel:
    """Carries bytes both ways until one side ends; goes on over a new websocket when one is lost."""

    def __init__(self, where: Where, url: str, reader: Reader, writer: Writer) -> None:
        """``url`` is the relay's root ("wss://tunnel.cloudproxy.app/v4"); nothing is sent yet."""
        self._where = where
        self._url = url.rstrip("/")
        self._reader = reader
        self._writer = writer
        self._session = Session()
        self._waiting: asyncio.Queue[bytes] = asyncio.Queue(maxsize=4)
        self._room = asyncio.Event()
        self._room.set()

    async def run(self) -> None:
        """Until the local input ends or the other side closes; raises ``TunnelError``."""
        local = asyncio.create_task(self._read_local())
        try:
            while not await self._one_websocket():
                pass
        finally:
            local.cancel()
            await asyncio.gather(local, return_exceptions=True)

    async def _one_websocket(self) -> bool:
        """Whether the tunnel is over; False asks for another websocket."""
        socket = await self._open()
        sender: asyncio.Task[None] | None = None
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                await self._welcome(socket)
            sender = asyncio.create_task(self._send(socket))
            receiver = asyncio.create_task(self._receive(socket))
            try:
                done, _ = await asyncio.wait({sender, receiver}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                receiver.cancel()
                sender.cancel()
                await asyncio.gather(receiver, sender, return_exceptions=True)
            for task in done:
                task.result()
        except ConnectionClosed as error:
            return self._is_over(error)
        except TimeoutError as error:
            raise unreachable(self._where, self._url, error) from error
        except (FrameError, ProtocolError) as error:
            raise TunnelError(f"The IAP relay broke its protocol on the way to {self._where}: {error}.") from error
        finally:
            await socket.close()
        return True

    async def _open(self) -> ClientConnection:
        """A websocket to the relay; a lost session is taken up again, tried for a bounded time."""
        loop = asyncio.get_running_loop()
        end = loop.time() + RECONNECT_SECONDS
        pause = 0.2
        while True:
            try:
                return await self._connect()
            except InvalidStatus as error:
                status = error.response.status_code
                if self._session.sid is None or status < 500 or loop.time() + pause > end:
                    raise refused(self._where, status) from error
            except (OSError, TimeoutError, InvalidHandshake) as error:
                if self._session.sid is None or loop.time() + pause > end:
                    raise unreachable(self._where, self._url, error) from error
            await asyncio.sleep(pause)
            pause = min(pause * 2, 5.0)

    async def _connect(self) -> ClientConnection:
        # Making a token may ask the network: not in the loop.
        token = await asyncio.to_thread(access_token)
        on_this_machine = urlsplit(self._url).hostname in ("127.0.0.1", "localhost", "::1")
        return await connect(
            self._address(),
            subprotocols=[Subprotocol(SUBPROTOCOL)],
            origin=Origin("bot:iap-tunneler"),
            additional_headers={"Authorization": f"Bearer {token}"},
            user_agent_header="tpuwright",
            compression=None,
            max_size=None,
            open_timeout=OPEN_SECONDS,
            close_timeout=2,
            proxy=None if on_this_machine else True,
        )

    def _address(self) -> str:
        where, session = self._where, self._session
        if session.sid is not None:
            words: dict[str, str | int] = {"sid": session.sid.decode("latin-1"), "ack": session.received}
            words["zone"] = where.zone
            path = "reconnect"
        else:
            words = {"project": where.project, "port": where.port, "zone": where.zone, "instance": where.instance}
            words["interface"] = "nic0"
            path = "connect"
        return f"{self._url}/{path}?{urlencode({**words, 'newWebsocket': 'True'})}"

    async def _welcome(self, socket: ClientConnection) -> None:
        while True:
            frame = decode(_binary(await socket.recv()))
            if isinstance(frame, ConnectSuccess):
                self._session.sid = frame.sid
                return
            if isinstance(frame, ReconnectSuccess):
                self._confirm(frame.confirmed)
                return
            if isinstance(frame, Data | Ack):
                raise ProtocolError("it sent data before the connection was up")

    async def _send(self, socket: ClientConnection) -> None:
        for payload in self._session.unconfirmed():
            await socket.send(encode(Data(payload)))
        while payload := await self._waiting.get():
            self._session.sending(payload)
            if self._session.outstanding > WINDOW:
                self._room.clear()
            await socket.send(encode(Data(payload)))
        # The input is at its end. The queue may be asked again after a reconnect, so the end stays in it.
        self._waiting.put_nowait(b"")

    async def _receive(self, socket: ClientConnection) -> None:
        async for message in socket:
            frame = decode(_binary(message))
            if isinstance(frame, Data):
                # Counted with the write, with no await between: a lost websocket may cancel this anywhere else.
                self._writer.write(frame.payload)
                total = self._session.ack_due(len(frame.payload))
                await self._writer.drain()
                if total is not None:
                    await socket.send(encode(Ack(total)))
            elif isinstance(frame, Ack):
                self._confirm(frame.confirmed)

    def _confirm(self, total: int) -> None:
        self._session.confirmed(total)
        if self._session.outstanding <= WINDOW:
            self._room.set()

    async def _read_local(self) -> None:
        while data := await self._reader.read(MAX_DATA):
            await self._room.wait()
            await self._waiting.put(data)
        await self._waiting.put(b"")

    def _is_over(self, error: ConnectionClosed) -> bool:
        code, reason = (error.rcvd.code, error.rcvd.reason) if error.rcvd else (1006, "")
        if code == 1000:
            return True
        if code in _LOST and self._session.sid is not None:
            return False
        raise closed(self._where, code, reason) from error


def _binary(message: str | bytes) -> bytes:
    if isinstance(message, str):
        raise ProtocolError("it sent text")
    return message
