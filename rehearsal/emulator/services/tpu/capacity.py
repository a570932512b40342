"""Who gets chips: quota at admission, capacity and reservations when a node is made."""

from __future__ import annotations

from fnmatch import fnmatchcase

from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.errors import ApiError
from rehearsal.emulator.handlers import Json
from rehearsal.emulator.services.tpu.nodes_stored import nodes, zone_of
from rehearsal.emulator.services.tpu.refusals import no_capacity, no_reserved_capacity, over_quota
from tpuwright.accelerators import lookup

QUEUED_KIND = "tpu.queuedResource"


def check_quota(cloud: Cloud, zone: str, wanted: list[Json]) -> None:
    """Raise ApiError 429 when nodes (documents of new_node) would exceed a quota.

    Preempted nodes and queued resources in any state count until they are deleted, as at Google.
    """
    for node in wanted:
        generation, tier = _class(node)
        used = sum(
            other["internal"]["chips"]
            for other in [*nodes(cloud), *_waiting(cloud), *wanted]
            if _class(other) == (generation, tier) and _same_place(zone_of(other["name"]), zone, tier)
        )
        for quota in cloud.settings.quota:
            if quota.generation == generation and quota.tier in {tier, "any"} and used > quota.chips:
                raise over_quota(generation, tier, quota.chips, zone, cloud.project_number)


def shortage(cloud: Cloud, wanted: list[Json]) -> ApiError | None:
    """Why the nodes cannot be made now, or None. Nodes of one request are made all together or not at all."""
    others = [node for node in nodes(cloud) if node["internal"]["allocated"]]
    for node in wanted:
        zone = zone_of(node["name"])
        if node["internal"]["reserved"]:
            if not _reservation_has_room(cloud, zone, node, others, wanted):
                return no_reserved_capacity()
            continue
        limit = cloud.settings.capacity_of(zone, node["internal"]["accelerator"])
        if limit is None:
            continue
        glob, chips = limit
        used = sum(
            other["internal"]["chips"]
            for other in [*others, *wanted]
            if fnmatchcase(f"{zone_of(other['name'])}/{other['internal']['accelerator']}", glob)
            and not other["internal"]["reserved"]
        )
        if used > chips:
            return no_capacity(zone)
    return None


def _reservation_has_room(cloud: Cloud, zone: str, node: Json, others: list[Json], wanted: list[Json]) -> bool:
    generation, named = _class(node)[0], node["internal"]["reservation"]
    for reservation in cloud.settings.reservations:
        full = f"projects/{cloud.project}/locations/{reservation.zone}/reservations/{reservation.name}"
        if (reservation.zone, reservation.generation) != (zone, generation) or named not in (
            None,
            full,
            reservation.name,
        ):
            continue
        used = sum(
            other["internal"]["chips"]
            for other in [*others, *wanted]
            if other["internal"]["reserved"] and zone_of(other["name"]) == zone and _class(other)[0] == generation
        )
        if used <= reservation.chips:
            return True
    return False


def _class(node: Json) -> tuple[str, str]:
    tier = "spot" if node["internal"]["spot"] else "standard"
    return lookup(node["internal"]["accelerator"]).generation.name, tier


def _same_place(zone: str, other: str, tier: str) -> bool:
    # Spot quotas count by region, the others by zone.
    return zone.rpartition("-")[0] == other.rpartition("-")[0] if tier == "spot" else zone == other


def _waiting(cloud: Cloud) -> list[Json]:
    """Nodes that queued resources ask for and that are not there (any more)."""
    there = {node["name"] for node in nodes(cloud)}
    return [
        node
        for _, queued in cloud.store.list(QUEUED_KIND)
        for node in queued["internal"]["nodes"]
        if node["name"] not in there
    ]
