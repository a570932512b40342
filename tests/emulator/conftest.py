"""An embedded cloud, without containers, that real clients reach over HTTP."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from emulated_cloud import PROJECT, Live, make_cloud, serve

from rehearsal.emulator.cloud import Cloud


@pytest.fixture
def cloud() -> Cloud:
    return make_cloud()


@pytest.fixture
def live(cloud: Cloud) -> Iterator[Live]:
    """The cloud over HTTP."""
    yield from serve(cloud)


@pytest.fixture
def client(live: Live) -> httpx.Client:
    """An HTTP client that shows the right token."""
    return live.http


@pytest.fixture
def vpc(live: Live) -> Live:
    """A cloud with the network "net" and its subnetwork "sub" (10.200.0.0/24) in us-west4."""
    root = f"/compute/v1/projects/{PROJECT}"
    live.done(live.http.post(f"{root}/global/networks", json={"name": "net", "autoCreateSubnetworks": False}))
    subnetwork = {"name": "sub", "network": "global/networks/net", "ipCidrRange": "10.200.0.0/24"}
    live.done(live.http.post(f"{root}/regions/us-west4/subnetworks", json=subnetwork))
    return live


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
