"""An embedded cloud without containers, in this process and over HTTP, for tests."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from rehearsal.emulator.app import create_app
from rehearsal.emulator.auth import Tokens
from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.settings import EmulatorSettings, Timings
from rehearsal.emulator.store import Store
from rehearsal.hosts.paper_hosts import PaperHosts

TOKEN = "a-token-for-tests"
PROJECT = "demo-proj"
QUICK = Timings(
    node_create=0,
    node_delete=0,
    node_patch=0,
    node_start=0,
    node_stop=0,
    node_maintenance=0.05,
    stockout=0,
    queue=0,
    repair=0.05,
)
WIRE = Path(__file__).parent / "wire"


def make_cloud(file: Path | str = ":memory:") -> Cloud:
    """A cloud of paper hosts in which nothing takes time."""
    settings = EmulatorSettings(timings=QUICK)
    return Cloud(Store(file), PaperHosts(), Tokens(TOKEN), project=PROJECT, settings=settings)


def recorded_steps(file: str) -> dict[str, list[dict[str, Any]]]:
    """The requests that the official gcp plugin sent, by the step in which it did."""
    steps: dict[str, list[dict[str, Any]]] = {}
    current: list[dict[str, Any]] = []
    for line in (WIRE / file).read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if "step" in entry:
            current = steps.setdefault(entry["step"], [])
        else:
            current.append(entry)
    return steps


@dataclass
class Live:
    """A cloud served on a port of this machine."""

    cloud: Cloud
    endpoint: str
    http: httpx.Client
    loop: asyncio.AbstractEventLoop

    def run(self, work: Any) -> Any:
        """Run a coroutine in the server's loop, and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(20)

    def done(self, answer: httpx.Response) -> dict[str, Any]:
        """Wait for an operation, of TPU or of Compute, and return it as it ended."""
        operation = answer.json()
        assert answer.status_code == 200, operation
        end = time.monotonic() + 20
        while not (operation.get("done") or operation.get("status") == "DONE"):
            assert time.monotonic() < end, f"the operation does not end: {operation}"
            time.sleep(0.005)
            address = operation.get("selfLink") or f"/v2alpha1/{operation['name']}"
            operation = self.http.get(address).json()
        return operation


def serve(cloud: Cloud) -> Iterator[Live]:
    """Serve a cloud, answers checked strictly, until the generator is closed."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    endpoint = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = uvicorn.Server(
        uvicorn.Config(create_app(cloud), log_config=None, access_log=False, timeout_graceful_shutdown=2)
    )
    loops: list[asyncio.AbstractEventLoop] = []

    async def run() -> None:
        loops.append(asyncio.get_running_loop())
        await server.serve(sockets=[listener])

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.005)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    try:
        with httpx.Client(base_url=endpoint, headers=headers, timeout=60, trust_env=False) as http:
            yield Live(cloud, endpoint, http, loops[0])
    finally:
        server.should_exit = True
        thread.join(20)
