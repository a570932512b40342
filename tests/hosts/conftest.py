"""An asyncio loop in a thread, on which the tests' servers and backends live, and applications served on it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

import pytest
import uvicorn
from pod_on_docker import Pod, jax_for
from starlette.applications import Starlette

from rehearsal.emulator.iap import IapRelay
from rehearsal.hosts.engine import connect
from rehearsal.hosts.image.build import build

T = TypeVar("T")


class Background:
    """Runs coroutines on a loop in another thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T], timeout: float = 120) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(timeout)

    def close(self) -> None:
        async def cancel_all() -> None:
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()

        self.run(cancel_all())
        self.run(self.loop.shutdown_default_executor())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(10)
        self.loop.close()


@pytest.fixture(scope="session")
def background() -> Iterator[Background]:
    background = Background()
    yield background
    background.close()


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@pytest.fixture
def serve(background: Background) -> Iterator[Callable[..., int]]:
    """Serve an application as the emulator does; returns the port on 127.0.0.1."""
    running = []

    async def start(app: Any, **settings: Any) -> int:
        listener = socket.create_server(("127.0.0.1", 0))
        # As the emulator: gcloud's client breaks on a websocket ping.
        server = _Server(uvicorn.Config(app, log_config=None, lifespan="off", ws_ping_interval=None, **settings))
        task = asyncio.create_task(server.serve(sockets=[listener]))
        running.append((server, task))
        while not server.started:
            await asyncio.sleep(0.01)
        return int(listener.getsockname()[1])

    async def stop() -> None:
        for server, task in running:
            server.should_exit = server.force_exit = True
            await task

    yield lambda app, **settings: background.run(start(app, **settings))
    background.run(stop())


@pytest.fixture(scope="session")
def until() -> Callable[..., Any]:
    """Wait until a function returns something true, and return that."""

    def wait(condition: Callable[[], Any], what: str, seconds: float = 10) -> Any:
        end = time.monotonic() + seconds
        while not (value := condition()):
            assert time.monotonic() < end, f"within {seconds} s it did not come true that {what}"
            time.sleep(0.05)
        return value

    return wait


@pytest.fixture(scope="session")
def pod(background: Background, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pod]:
    """Four hosts and a bastion in containers, up and published; JAX is in /opt/jax. Left as it was found."""
    image = build(connect(), print)
    directory = tmp_path_factory.mktemp("pod")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", directory / "id_ed25519"], check=True)
    pod = Pod(directory, jax_for(image, directory / "jax"))
    try:
        background.run(pod.make())
        yield pod
    finally:
        background.run(pod.unmake())


@pytest.fixture
def relay(pod: Pod, background: Background, serve: Callable[..., int]) -> Iterator[str]:
    """The URL of an IAP relay in front of the pod's bastion."""
    relay = IapRelay(pod)
    yield f"ws://127.0.0.1:{serve(Starlette(routes=relay.routes))}/v4"
    background.run(relay.close())
