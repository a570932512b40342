"""An embedded cloud in this process, without containers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from rehearsal.emulator.app import create_app
from rehearsal.emulator.auth import Tokens
from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.store import Store
from rehearsal.hosts.backend import DeathCallback, FirewallRule, HostSpec, HostState, SubnetworkSpec

TOKEN = "a-token-for-tests"


class Hosts:
    """Until PaperHosts is here."""

    def __init__(self) -> None:
        self.now: dict[str, HostState] = {}
        self.rules: list[FirewallRule] = []
        self.subnetworks: dict[str, SubnetworkSpec] = {}
        self.callback: DeathCallback | None = None

    async def prepare_subnetwork(self, spec: SubnetworkSpec) -> str | None:
        self.subnetworks[spec.name] = spec
        return None

    async def remove_subnetwork(self, name: str) -> None:
        self.subnetworks.pop(name, None)

    async def create(self, spec: HostSpec) -> None:
        self.now[spec.key] = HostState.RUNNING

    async def delete(self, key: str) -> None:
        self.now.pop(key, None)

    async def start(self, key: str) -> None:
        self.now[key] = HostState.RUNNING

    async def stop(self, key: str) -> None:
        self.now[key] = HostState.STOPPED

    async def restart(self, key: str) -> None:
        self.now[key] = HostState.RUNNING

    async def kill(self, key: str) -> None:
        self.now[key] = HostState.DEAD
        assert self.callback is not None
        await self.callback(key)

    async def apply_firewall(self, rules: list[FirewallRule]) -> None:
        self.rules = list(rules)

    async def states(self) -> dict[str, HostState]:
        return dict(self.now)

    def on_death(self, callback: DeathCallback) -> None:
        self.callback = callback

    async def leftovers(self) -> list[str]:
        return [f"host {key}" for key in self.now]

    async def close(self) -> None:
        pass


@pytest.fixture
def cloud() -> Cloud:
    return Cloud(Store(":memory:"), Hosts(), Tokens(TOKEN), project="demo-proj")


@pytest.fixture
def client(cloud: Cloud) -> Iterator[TestClient]:
    """An HTTP client that shows the right token; answers are checked strictly."""
    with TestClient(create_app(cloud), headers={"Authorization": f"Bearer {TOKEN}"}) as http:
        yield http
