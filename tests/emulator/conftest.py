"""An embedded cloud in this process, without containers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

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


@pytest.fixture
def cloud() -> Cloud:
    settings = EmulatorSettings(timings=QUICK)
    return Cloud(Store(":memory:"), PaperHosts(), Tokens(TOKEN), project=PROJECT, settings=settings)


@pytest.fixture
def client(cloud: Cloud) -> Iterator[TestClient]:
    """An HTTP client that shows the right token; answers are checked strictly."""
    with TestClient(create_app(cloud), headers={"Authorization": f"Bearer {TOKEN}"}) as http:
        yield http


@pytest.fixture
def until() -> Callable[[Callable[[], Any]], Any]:
    """Wait until a function returns something true, and return that; fail after 10 s."""

    def wait(condition: Callable[[], Any]) -> Any:
        end = time.monotonic() + 10
        while not (value := condition()):
            assert time.monotonic() < end, "the state that the test waits for did not come within 10 s"
            time.sleep(0.01)
        return value

    return wait
