"""What the emulator asks of the machinery that runs its hosts, and the words in which it asks.

Two backends answer: `DockerHosts` (one container a host) and `PaperHosts` (states only, no containers).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Protocol

IAP_RANGE = "35.235.240.0/20"
"""Where Google's IAP relay comes from; in a rehearsal the pod network's gateway address stands for it."""


class HostsError(Exception):
    """A host or a network could not be had; the text is one sentence with what to do."""


class EngineUnavailable(HostsError):
    """No Docker engine answers."""


class ImageMissing(HostsError):
    """The host image has not been built yet."""


class RangeCollision(HostsError):
    """A subnetwork's range is in use on this machine already."""


@dataclass(frozen=True)
class SubnetworkSpec:
    """A subnetwork: `name` projects/P/regions/R/subnetworks/S, `network` projects/P/global/networks/N."""

    name: str
    network: str
    ip_cidr_range: str
    nat: bool = False
    """True when a Cloud NAT serves the subnetwork, so that hosts without an external address get out."""


@dataclass(frozen=True)
class HostSpec:
    """A host: `key` is the full name of what it belongs to, such as projects/P/zones/Z/instances/bastion."""

    key: str
    hostname: str
    zone: str
    subnetwork: str
    ip: str
    tags: tuple[str, ...] = ()
    generation: str | None = None
    """TPU generation ("v4", "v5e", ...), or None for a host without TPU chips."""
    chips: int = 0
    nat: bool = False
    """True when this host gets out by itself (an external address); else its subnetwork's `nat` decides."""


@dataclass(frozen=True)
class FirewallRule:
    """A VPC firewall rule; (protocol, ports) pairs, ports as Google has them ("22", "80-90"), () = all."""

    name: str
    network: str
    direction: Literal["INGRESS", "EGRESS"] = "INGRESS"
    priority: int = 1000
    allowed: tuple[tuple[str, tuple[str, ...]], ...] = ()
    denied: tuple[tuple[str, tuple[str, ...]], ...] = ()
    source_ranges: tuple[str, ...] = ()
    source_tags: tuple[str, ...] = ()
    target_tags: tuple[str, ...] = ()
    destination_ranges: tuple[str, ...] = ()
    disabled: bool = False


class HostState(StrEnum):
    """`stopped` was asked for, `dead` was not; `missing` was created once, and is gone from the engine."""

    RUNNING = "running"
    STOPPED = "stopped"
    DEAD = "dead"
    MISSING = "missing"


DeathCallback = Callable[[str], Awaitable[None]]


class HostsBackend(Protocol):
    """Runs hosts. Every method is idempotent, and raises HostsError for what a user can mend."""

    async def prepare_subnetwork(self, spec: SubnetworkSpec) -> str | None:
        """Make the network of a subnetwork, or bring its `nat` up to date.

        Returns the gateway's address, on which the metadata server has to listen (None: no such thing).
        Raises RangeCollision before anything is made when the range is in use on this machine.
        """
        ...

    async def remove_subnetwork(self, name: str) -> None: ...

    async def create(self, spec: HostSpec) -> None:
        """Make the host and start it. Returns when it runs, which is before it can be reached by ssh."""
        ...

    async def delete(self, key: str) -> None: ...

    async def start(self, key: str) -> None: ...

    async def stop(self, key: str) -> None: ...

    async def restart(self, key: str) -> None: ...

    async def kill(self, key: str) -> None:
        """Cut the host's power: it is `dead` afterwards, and reported like any other death."""
        ...

    async def set_tags(self, key: str, tags: Sequence[str]) -> None:
        """The host's network tags are these until this backend's end; those of its HostSpec are kept with it."""
        ...

    async def apply_firewall(self, rules: Sequence[FirewallRule]) -> None:
        """Replace all rules of all networks by `rules`, on every running host and on those to come."""
        ...

    async def states(self) -> Mapping[str, HostState]:
        """The state of every host of this rehearsal, by key. An unknown key has no host."""
        ...

    def on_death(self, callback: DeathCallback) -> None:
        """Await `callback(key)` whenever a host dies that nobody asked to stop."""
        ...

    async def leftovers(self) -> list[str]:
        """What of this rehearsal still exists: "container NAME (KEY)", "network NAME (SUBNETWORK)"."""
        ...

    async def close(self) -> None:
        """Stop watching. Hosts keep running: they outlive the emulator."""
        ...
