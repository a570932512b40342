"""The VPC as the hosts' machinery needs it: subnetworks with their NAT, and all firewall rules.

A subnetwork's network is made on this machine when its first host comes, and goes with the subnetwork.
"""

from __future__ import annotations

from rehearsal.emulator.background import Task, at_start, background
from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.handlers import Json
from rehearsal.emulator.services.compute import firewall_rules, nat_rules, refusals, resources
from rehearsal.emulator.services.compute.references import FIREWALLS, ROUTERS, SUBNETWORKS
from rehearsal.hosts.backend import SubnetworkSpec

APPLY_FIREWALL = "compute.firewalls.apply"
APPLY_NAT = "compute.routers.apply"


def has_nat(cloud: Cloud, subnetwork: str) -> bool:
    """Whether a Cloud NAT serves the subnetwork, so that its hosts get out without external addresses."""
    document = cloud.store.get(subnetwork) or {}
    return any(
        nat_rules.serves(nat, subnetwork)
        for _, router in cloud.store.list(resources.kind(ROUTERS))
        if (router["network"], router["region"]) == (document.get("network"), document.get("region"))
        for nat in router.get("nats", ())
    )


def spec_of(cloud: Cloud, subnetwork: str) -> SubnetworkSpec:
    """The subnetwork as the hosts' backend takes it. ApiError 404 when it is gone, 400 when it is going."""
    document = resources.existing(cloud, SUBNETWORKS, subnetwork)
    if document.get("_deleting"):
        raise refusals.not_ready(subnetwork)
    return SubnetworkSpec(
        name=subnetwork,
        network=document["network"],
        ip_cidr_range=document["ipCidrRange"],
        nat=has_nat(cloud, subnetwork),
    )


def has_hosts(cloud: Cloud, subnetwork: str) -> bool:
    """Whether machines hold addresses of the subnetwork; reserved addresses do not count."""
    return any("/addresses/" not in holder for holder in cloud.addresses.holders(subnetwork).values())


async def prepare(cloud: Cloud, subnetwork: str) -> None:
    """Make the subnetwork's network, and its firewall, ready for a host. Idempotent. Raises RangeCollision."""
    await cloud.prepare_subnetwork(spec_of(cloud, subnetwork))
    await apply_firewall(cloud)


async def apply_firewall(cloud: Cloud) -> None:
    """Give the hosts' machinery all firewall rules, as they stand now."""
    await cloud.hosts.apply_firewall(
        [
            firewall_rules.to_rule(document, document["network"])
            for _, document in cloud.store.list(resources.kind(FIREWALLS))
        ]
    )


@background(APPLY_FIREWALL)
async def _apply_firewall(_task: Task, cloud: Cloud) -> Json | None:
    await apply_firewall(cloud)
    return None


@background(APPLY_NAT)
async def _apply_nat(task: Task, cloud: Cloud) -> Json | None:
    for name, document in cloud.store.list(resources.kind(SUBNETWORKS)):
        same = (document["network"], document["region"]) == (task.args["network"], task.args["region"])
        if same and cloud.addresses.holders(name) and not document.get("_deleting"):
            await cloud.prepare_subnetwork(spec_of(cloud, name))
    return None


@at_start
async def _restore(cloud: Cloud) -> None:
    for name, document in cloud.store.list(resources.kind(SUBNETWORKS)):
        if cloud.addresses.holders(name) and not document.get("_deleting"):
            await cloud.prepare_subnetwork(spec_of(cloud, name))
    await apply_firewall(cloud)
