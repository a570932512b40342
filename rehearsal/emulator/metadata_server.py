"""Serves the metadata on the gateway addresses of pod networks, one listener for each, inside a running loop."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import uvicorn

from rehearsal.emulator.metadata import Metadata
from rehearsal.hosts.backend import HostsError

DEFAULT_PORT = 8779
"""Not 80, which a web server on this machine may hold; hosts see 169.254.169.254:80 all the same."""

_CLOSE_SECONDS = 2.0


class MetadataListeners:
    """Listens on addresses that come one after another, never on any other address of the machine."""

    def __init__(self, metadata: Metadata, port: int = DEFAULT_PORT) -> None:
        self._metadata = metadata
        self._port = port
        self._servers: dict[str, tuple[_Server, asyncio.Task[None]]] = {}

    async def listen(self, address: str) -> None:
        """Serve on `address` too; idempotent. Raises HostsError when the port is taken."""
        running = self._servers.get(address)
        if running is not None and not running[1].done():
            return
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((address, self._port))
        except OSError as error:
            listener.close()
            raise HostsError(
                f"The metadata server cannot listen on {address}:{self._port} ({error.strerror}): "
                "stop the program that does, or choose another port for it."
            ) from error
        self._metadata.open()
        server = _Server(uvicorn.Config(self._metadata.app, log_config=None, access_log=False, lifespan="off"))
        task = asyncio.create_task(server.serve(sockets=[listener]), name=f"metadata on {address}")
        self._servers[address] = (server, task)
        while not server.started and not task.done():
            await asyncio.sleep(0.01)

    async def close(self) -> None:
        """Stop serving everywhere."""
        self._metadata.close()
        for server, _ in self._servers.values():
            server.should_exit = True
        tasks = [task for _, task in self._servers.values()]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_CLOSE_SECONDS)
            for server, task in self._servers.values():
                server.force_exit = task in late
            await asyncio.gather(*tasks, return_exceptions=True)
        self._servers.clear()


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # Signals are the emulator's, which closes us.
        yield
