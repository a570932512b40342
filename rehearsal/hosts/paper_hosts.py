"""Hosts on paper: states and nothing behind them, for tests of the API alone and for slices of any size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from ipaddress import ip_network

from rehearsal.hosts.backend import (
    DeathCallback,
    FirewallRule,
    HostsError,
    HostSpec,
    HostState,
    RangeCollision,
    SubnetworkSpec,
)


class PaperHosts:
    """A HostsBackend that keeps notes. What it was told can be read back: `subnetworks`, `specs`, `rules`."""

    def __init__(self) -> None:
        self.subnetworks: dict[str, SubnetworkSpec] = {}
        self.specs: dict[str, HostSpec] = {}
        self.rules: tuple[FirewallRule, ...] = ()
        self._states: dict[str, HostState] = {}
        self._callbacks: list[DeathCallback] = []

    async def prepare_subnetwork(self, spec: SubnetworkSpec) -> str | None:
        """Note the subnetwork; None, as there is no gateway to listen on. Networks may overlap, as on Google."""
        wanted = ip_network(spec.ip_cidr_range)
        for other in self.subnetworks.values():
            same_network = other.network == spec.network and other.name != spec.name
            if same_network and wanted.overlaps(ip_network(other.ip_cidr_range)):
                raise RangeCollision(
                    f"Subnetwork {spec.name} asks for {spec.ip_cidr_range}, which overlaps {other.ip_cidr_range} "
                    f"of {other.name}: choose another range."
                )
        self.subnetworks[spec.name] = spec
        return None

    async def remove_subnetwork(self, name: str) -> None:
        """Forget the subnetwork. Raises HostsError while hosts are in it."""
        users = sorted(key for key, spec in self.specs.items() if spec.subnetwork == name)
        if users:
            raise HostsError(f"Subnetwork {name} still has hosts ({', '.join(users)}): delete them first.")
        self.subnetworks.pop(name, None)

    async def create(self, spec: HostSpec) -> None:
        """Note the host as running. Raises HostsError when its subnetwork is unknown or its address taken."""
        if spec.subnetwork not in self.subnetworks:
            raise HostsError(f"Host {spec.key} asks for subnetwork {spec.subnetwork}, which was not prepared.")
        for other in self.specs.values():
            if other.key != spec.key and (other.subnetwork, other.ip) == (spec.subnetwork, spec.ip):
                raise HostsError(f"Host {spec.key} asks for address {spec.ip}, which {other.key} has.")
        self.specs[spec.key] = spec
        self._states[spec.key] = HostState.RUNNING

    async def delete(self, key: str) -> None:
        """Forget the host."""
        self.specs.pop(key, None)
        self._states.pop(key, None)

    async def start(self, key: str) -> None:
        """The host runs. Raises HostsError when there is none."""
        self._set(key, HostState.RUNNING)

    async def stop(self, key: str) -> None:
        """The host is stopped. Raises HostsError when there is none."""
        self._set(key, HostState.STOPPED)

    async def restart(self, key: str) -> None:
        """The host runs. Raises HostsError when there is none."""
        self._set(key, HostState.RUNNING)

    async def kill(self, key: str) -> None:
        """The host is dead, and that is reported. Raises HostsError when there is none."""
        if self._states.get(key) is HostState.DEAD:
            return
        self._set(key, HostState.DEAD)
        for callback in self._callbacks:
            await callback(key)

    async def set_tags(self, key: str, tags: Sequence[str]) -> None:
        """The host's network tags are these from now on. Raises HostsError when there is none."""
        if key not in self.specs:
            raise HostsError(f"There is no host {key}.")
        self.specs[key] = replace(self.specs[key], tags=tuple(tags))

    async def apply_firewall(self, rules: Sequence[FirewallRule]) -> None:
        """Note the rules."""
        self.rules = tuple(rules)

    async def states(self) -> Mapping[str, HostState]:
        """Every host's state by key."""
        return dict(self._states)

    def on_death(self, callback: DeathCallback) -> None:
        """Await `callback(key)` when a host is killed."""
        self._callbacks.append(callback)

    async def leftovers(self) -> list[str]:
        """What has not been deleted."""
        return [f"host {key}" for key in self.specs] + [f"network {name}" for name in self.subnetworks]

    async def close(self) -> None:
        """Nothing to close."""

    def _set(self, key: str, state: HostState) -> None:
        if key not in self.specs:
            raise HostsError(f"There is no host {key}.")
        self._states[key] = state
