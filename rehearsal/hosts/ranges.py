"""Whether a range of addresses is free on this machine: the engine's networks and pools, and the routes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from rehearsal.hosts.backend import RangeCollision

# What Docker takes networks from when its configuration names no pools: libnetwork/ipamutils of its source.
_BUILT_IN_POOLS = (*(f"172.{second}.0.0/16" for second in range(17, 32)), "192.168.0.0/16")
_ROUTES = Path("/proc/net/route")


@dataclass(frozen=True)
class Use:
    """A range, and who uses it in the words of a message."""

    network: IPv4Network
    user: str


def check_free(name: str, ip_cidr_range: str, uses: Iterable[Use]) -> None:
    """Raises RangeCollision, naming the user and a range that is free, when `ip_cidr_range` meets any of `uses`."""
    wanted = IPv4Network(ip_cidr_range)
    known = list(uses)
    for use in known:
        if wanted.overlaps(use.network):
            free = _free(known)
            raise RangeCollision(
                f"Subnetwork {name} asks for {wanted}, but {use.user} uses {use.network} on this machine: "
                f"choose another ip_cidr_range in tpuwright:network{f', such as {free}' if free else ''}."
            )


def docker_uses(networks: Iterable[Mapping[str, Any]], info: Mapping[str, Any]) -> Iterator[Use]:
    """The engine's networks (as `GET /networks` lists them) and its pools (`GET /info`)."""
    for network in networks:
        for config in (network.get("IPAM") or {}).get("Config") or []:
            subnet = config.get("Subnet", "")
            if subnet and ":" not in subnet:
                yield Use(IPv4Network(subnet, strict=False), f"the Docker network {network['Name']}")
    pools = [pool["Base"] for pool in info.get("DefaultAddressPools") or [] if ":" not in pool["Base"]]
    for pool in pools or _BUILT_IN_POOLS:
        yield Use(IPv4Network(pool, strict=False), "Docker's own address pool")


def route_uses(table: str | None = None) -> Iterator[Use]:
    """The machine's routes except the default one. `table` is the text of /proc/net/route."""
    if table is None:
        if not _ROUTES.exists():
            return
        table = _ROUTES.read_text()
    for line in table.splitlines()[1:]:
        fields = line.split()
        if len(fields) < 8 or fields[7] == "00000000":
            continue
        address, mask = (int.from_bytes(bytes.fromhex(fields[index]), "little") for index in (1, 7))
        yield Use(IPv4Network((address, mask.bit_count())), f"a route through {fields[0]}")


def _free(uses: list[Use]) -> IPv4Network | None:
    """A private range, as large as a stack's default, that nobody uses."""
    for second in (*range(200, 256), *range(0, 200)):
        candidate = IPv4Network(f"10.{second}.0.0/16")
        if not any(candidate.overlaps(use.network) for use in uses):
            return candidate
    return None
