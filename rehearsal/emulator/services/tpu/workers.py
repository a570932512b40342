"""The hosts of a node: made, started, stopped and deleted together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from fnmatch import fnmatchcase
from ipaddress import ip_network

from rehearsal.emulator.addresses import NoRoom
from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.handlers import Json
from rehearsal.emulator.operations import number_of
from rehearsal.emulator.services.compute import host_network
from rehearsal.emulator.services.tpu.nodes_stored import set_internal, worker_keys, zone_of
from rehearsal.emulator.services.tpu.refusals import bad_request, no_addresses
from rehearsal.hosts.backend import HostSpec
from tpuwright.accelerators import lookup

PORT = 8470
"""The port of every network endpoint, as Google gives it."""
_EXTERNAL = ip_network("203.0.113.0/24")
_ABSENT_POLL_SECONDS = 0.2


def host_specs(cloud: Cloud, node: Json) -> list[HostSpec]:
    """What to run for each worker of a node whose addresses are allocated."""
    internal = node["internal"]
    accelerator = lookup(internal["accelerator"])
    external = bool(network_configs(node)[0].get("enableExternalIps"))
    return [
        HostSpec(
            key=key,
            hostname=hostname(node, index),
            zone=zone_of(node["name"]),
            subnetwork=internal["subnetwork"],
            ip=cloud.addresses.of(key) or "",
            tags=tuple(node.get("tags", ())),
            generation=accelerator.generation.name,
            chips=accelerator.chips_per_host,
            nat=external,
        )
        for index, key in enumerate(worker_keys(node))
    ]


def hostname(node: Json, worker: int) -> str:
    """As TPU VMs are called: t1v-n-1a2b3c4d-w-0."""
    return f"t1v-n-{int(node['id']):x}"[:14] + f"-w-{worker}"


def network_configs(node: Json) -> list[Json]:
    configs: list[Json] = node.get("networkConfigs") or [node["networkConfig"]]
    return configs


async def bring_up(cloud: Cloud, node: Json) -> Json:
    """Allocate addresses, make all hosts and wait for them; returns the node with its endpoints, READY.

    Idempotent. Raises ApiError when the subnetwork is full or went away, HostsError when hosts cannot be had.
    """
    name, subnetwork = node["name"], cloud.store.get(node["internal"]["subnetwork"])
    if subnetwork is None:
        raise bad_request(f"The resource '{node['internal']['subnetwork']}' was not found")
    held = subnetwork["ipCidrRange"]
    try:
        cloud.addresses.allocate(node["internal"]["subnetwork"], held, worker_keys(node))
    except NoRoom:
        raise no_addresses(node["internal"]["subnetwork"]) from None
    await cloud.clock.sleep(cloud.settings.timings.node_create)
    await host_network.prepare(cloud, node["internal"]["subnetwork"])
    await all_of(_create(cloud, spec) for spec in host_specs(cloud, node))
    set_internal(cloud, name, readySince=cloud.clock.timestamp())
    ready = cloud.store.update(
        name, state="READY", health="HEALTHY", networkEndpoints=endpoints(cloud, node), healthDescription=None
    )
    return ready or node


async def tear_down(cloud: Cloud, node: Json) -> None:
    """Delete all hosts of a node, and give back their addresses."""
    await on_all(cloud.hosts.delete, node)
    for key in worker_keys(node):
        cloud.addresses.release(key)
        cloud.store.drop_guest_attributes(key)


async def on_all(action: Callable[[str], Awaitable[None]], node: Json) -> None:
    """Do one thing to every worker at once."""
    await all_of(action(key) for key in worker_keys(node))


async def all_of(steps: Iterable[Awaitable[None]]) -> None:
    """Run steps side by side and return when all have ended; raises what the first of them raised.

    No step is left running when another fails: what it makes afterwards would belong to nobody.
    """
    for result in await asyncio.gather(*steps, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result


def endpoints(cloud: Cloud, node: Json) -> list[Json]:
    """networkEndpoints: one for each worker, in order."""
    external = bool(network_configs(node)[0].get("enableExternalIps"))
    found = []
    for key in worker_keys(node):
        config: Json = {"externalIp": _external_address(node, key)} if external else {}
        found.append({"ipAddress": cloud.addresses.of(key), "port": PORT, "accessConfig": config})
    return found


def _external_address(node: Json, key: str) -> str:
    """An address that looks public and leads nowhere; another one after a maintenance."""
    generation = node["internal"].get("addressGeneration", 0)
    return str(_EXTERNAL[1 + int(number_of(f"{key}#{generation}")) % 254])


async def _create(cloud: Cloud, spec: HostSpec) -> None:
    while any(fnmatchcase(spec.key, glob) for glob in cloud.settings.faults.hosts_that_never_come):
        await cloud.clock.sleep(_ABSENT_POLL_SECONDS)
    await make_host(cloud, spec)


async def make_host(cloud: Cloud, spec: HostSpec) -> None:
    """Make a host that is complete when this returns or raises, also when it is cancelled."""
    # A container engine goes on with what it has begun: a cancelled creation is waited for, then undone.
    making = asyncio.ensure_future(cloud.hosts.create(spec))
    try:
        await asyncio.shield(making)
    except asyncio.CancelledError:
        await asyncio.wait([making])
        raise
