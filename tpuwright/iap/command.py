"""The tunnel on standard input and output, as ssh's ProxyCommand wants it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import sys
from collections.abc import AsyncIterator

from tpuwright.iap.errors import Where
from tpuwright.iap.frames import MAX_DATA
from tpuwright.iap.tunnel import Reader, Tunnel, Writer


async def tunnel_standard_streams(where: Where, url: str) -> None:
    """Connect standard input and output to ``where``; raises ``TpuwrightError``."""
    async with _standard_input() as reader, _standard_output() as writer:
        await Tunnel(where, url, reader, writer).run()


class _File:
    """A file that never blocks and that epoll does not take: a regular one, or /dev/null."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def read(self, n: int) -> bytes:
        return os.read(self._descriptor, n)

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._descriptor, data) :]

    async def drain(self) -> None:
        return


def _is_file(descriptor: int) -> bool:
    with select.epoll() as poll:
        try:
            poll.register(descriptor, select.EPOLLIN)
        except PermissionError:
            return True
    return False


@contextlib.asynccontextmanager
async def _standard_input() -> AsyncIterator[Reader]:
    if _is_file(sys.stdin.fileno()):
        yield _File(sys.stdin.fileno())
        return
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=4 * MAX_DATA)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)
    try:
        yield reader
    finally:
        transport.close()


@contextlib.asynccontextmanager
async def _standard_output() -> AsyncIterator[Writer]:
    if _is_file(sys.stdout.fileno()):
        yield _File(sys.stdout.fileno())
        return
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout.buffer)
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    try:
        yield writer
    finally:
        with contextlib.suppress(ConnectionError):
            await writer.drain()
        transport.close()
