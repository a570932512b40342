"""Subnetworks: made, grown, changed and deleted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Network
from typing import Any

from rehearsal.emulator.background import Task, background
from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.errors import ApiError
from rehearsal.emulator.handlers import Call, Json, operation
from rehearsal.emulator.services.compute import (
    host_network,
    nat_rules,
    ranges,
    refusals,
    rendering,
    resources,
)
from rehearsal.emulator.services.compute.naming import check_name
from rehearsal.emulator.services.compute.references import (
    NETWORKS,
    ROUTERS,
    SUBNETWORKS,
    last_part,
    resolve,
    resolve_place,
)
from rehearsal.emulator.services.compute.resources import mutation
from rehearsal.hosts.backend import HostsError

_PATCHABLE = {"privateIpGoogleAccess", "logConfig", "enableFlowLogs", "secondaryIpRanges"}
_DELETE = "compute.subnetworks.delete"
_EXPAND = "compute.subnetworks.expand"
_ONLY = {"purpose": "PRIVATE", "stackType": "IPV4_ONLY", "privateIpv6GoogleAccess": "DISABLE_GOOGLE_ACCESS"}


@mutation(
    "compute.subnetworks.insert",
    checked="recorded pulumi-gcp, google-cloud-compute, gcloud",
    differs="Only IPv4 subnetworks of purpose PRIVATE; others answer 501.",
)
async def insert_subnetwork(call: Call, cloud: Cloud) -> Json:
    body = {key: value for key, value in call.body.items() if value not in ([], "") and key != "params"}
    name = resources.full_name(call, cloud, SUBNETWORKS, check_name(body.get("name")))
    region = call.path["region"]
    if "region" in body and resolve_place(body["region"], "regions", field="resource.region") != region:
        raise refusals.invalid_field(
            "resource.region", body["region"], f"The region must be that of the request, '{region}'."
        )
    for field, only in _ONLY.items():
        if body.setdefault(field, only) != only:
            raise ApiError(501, f"Subnetworks with {field} {body[field]} are not emulated, only {only}.")
    network = _network_of(body, cloud)
    primary = ranges.check_subnetwork_range(body.get("ipCidrRange"))
    resources.check_free(cloud, name)
    _check_room(cloud, network, name, primary, body.get("secondaryIpRanges", ()), whole=True)
    document = resources.add(
        cloud,
        SUBNETWORKS,
        name,
        {
            "description": "",
            "privateIpGoogleAccess": False,
            "allowSubnetCidrRoutesOverlap": False,
            **body,
            "logConfig": {"enable": False, **body.get("logConfig", {})},
            "enableFlowLogs": _flow_logs(body),
            "network": network,
            "region": f"projects/{cloud.project}/regions/{region}",
            "ipCidrRange": str(primary),
            "gatewayAddress": str(ranges.gateway_of(primary)),
        },
    )
    return resources.begin(call, cloud, name, "insert", document)


@operation("compute.subnetworks.get", checked="recorded pulumi-gcp, gcloud")
async def get_subnetwork(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, SUBNETWORKS, call.path["subnetwork"])
    return rendering.rendered(call, name, document, SUBNETWORKS)


@operation("compute.subnetworks.list")
async def list_subnetworks(call: Call, cloud: Cloud) -> Json:
    return resources.listing(call, cloud, SUBNETWORKS)


@operation("compute.subnetworks.aggregatedList")
async def aggregate_subnetworks(call: Call, cloud: Cloud) -> Json:
    return resources.aggregate(call, cloud, SUBNETWORKS)


@mutation("compute.subnetworks.patch", checked="gcloud")
async def patch_subnetwork(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, SUBNETWORKS, call.path["subnetwork"])
    change = dict(call.body)
    given = change.pop("fingerprint", None)
    current = rendering.rendered(call, name, document, SUBNETWORKS)
    if given is None:
        raise refusals.required("resource.fingerprint")
    if not rendering.same_fingerprint(given, current["fingerprint"]):
        raise refusals.fingerprint_mismatch("Supplied fingerprint does not match current subnetwork fingerprint.")
    for field, value in change.items():
        if field not in _PATCHABLE and not _same(field, value, document):
            raise refusals.invalid_field(f"resource.{field}", value, "The field of a subnetwork cannot be changed.")
    kept = {field: value for field, value in change.items() if field in _PATCHABLE}
    if kept.get("secondaryIpRanges"):
        primary = IPv4Network(document["ipCidrRange"])
        _check_room(cloud, document["network"], name, primary, kept["secondaryIpRanges"], whole=False)
    if "enableFlowLogs" in kept or "logConfig" in kept:
        enabled = kept["logConfig"].get("enable", False) if "logConfig" in kept else kept["enableFlowLogs"]
        kept["logConfig"] = {**document.get("logConfig", {}), **kept.get("logConfig", {}), "enable": enabled}
        kept["enableFlowLogs"] = enabled
    document = {**document, **kept}
    document = {key: value for key, value in document.items() if value != []}
    cloud.store.put(resources.kind(SUBNETWORKS), name, document)
    return resources.begin(call, cloud, name, "patch", document)


@mutation("compute.subnetworks.setPrivateIpGoogleAccess")
async def set_private_ip_google_access(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, SUBNETWORKS, call.path["subnetwork"])
    cloud.store.update(name, privateIpGoogleAccess=call.body.get("privateIpGoogleAccess", False))
    return resources.begin(call, cloud, name, "compute.subnetworks.setPrivateIpGoogleAccess", document)


@mutation(
    "compute.subnetworks.expandIpCidrRange",
    checked="recorded pulumi-gcp, gcloud",
    differs="Hosts lose their network for a moment: on this machine it is made anew around them.",
)
async def expand_subnetwork(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, SUBNETWORKS, call.path["subnetwork"])
    new = ranges.check_subnetwork_range(call.body.get("ipCidrRange"), "ipCidrRange")
    old = IPv4Network(document["ipCidrRange"])
    ranges.check_expansion(old, new)
    _check_room(cloud, document["network"], name, new, (), whole=False)
    _set_range(cloud, name, new)
    return resources.begin(
        call, cloud, name, "compute.subnetworks.expandIpCidrRange", document, work=_EXPAND, args={"before": str(old)}
    )


@background(_EXPAND)
async def _expand(task: Task, cloud: Cloud) -> Json | None:
    if host_network.has_hosts(cloud, task.target):
        try:
            await host_network.prepare(cloud, task.target)
        except HostsError:
            _set_range(cloud, task.target, IPv4Network(task.args["before"]))
            raise
    return None


@mutation("compute.subnetworks.delete", checked="recorded pulumi-gcp, google-cloud-compute, gcloud")
async def delete_subnetwork(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, SUBNETWORKS, call.path["subnetwork"])
    if document.get("_automatic") and (cloud.store.get(document["network"]) or {}).get("autoCreateSubnetworks"):
        raise ApiError(
            400,
            "Invalid resource usage: 'Cannot delete auto subnetwork from an auto subnet mode network.'.",
            reason="invalidResourceUsage",
        )
    _check_unused(cloud, name)
    # Nothing may move in between now and the end of the network on this machine.
    cloud.store.update(name, _deleting=True)
    return resources.begin(call, cloud, name, "delete", document, work=_DELETE)


@background(_DELETE)
async def _delete(task: Task, cloud: Cloud) -> Json | None:
    try:
        _check_unused(cloud, task.target)
        await cloud.hosts.remove_subnetwork(task.target)
    except BaseException:
        cloud.store.update(task.target, _deleting=None)
        raise
    cloud.store.delete(task.target)
    return None


def _set_range(cloud: Cloud, name: str, network: IPv4Network) -> None:
    cloud.store.update(name, ipCidrRange=str(network), gatewayAddress=str(ranges.gateway_of(network)))


def _check_unused(cloud: Cloud, name: str) -> None:
    holders = sorted(cloud.addresses.holders(name).values())
    if holders:
        raise refusals.in_use("subnetwork", name, holders[0].partition("/workers/")[0])
    for router, document in cloud.store.list(resources.kind(ROUTERS)):
        for nat in document.get("nats", ()):
            if nat["sourceSubnetworkIpRangesToNat"] == nat_rules.LISTED and nat_rules.serves(nat, name):
                raise refusals.in_use("subnetwork", name, router)


def _network_of(body: Mapping[str, Any], cloud: Cloud) -> str:
    given = body.get("network")
    if not given:
        raise refusals.required("resource.network")
    network = resolve(given, NETWORKS, project=cloud.project, field="resource.network")
    resources.referenced(cloud, NETWORKS, network, given, "resource.network")
    return network


def _check_room(
    cloud: Cloud,
    network: str,
    name: str,
    primary: IPv4Network,
    secondary: Iterable[Mapping[str, str]],
    *,
    whole: bool,
) -> None:
    """ApiError 400 where a range of the subnetwork overlaps another of its network."""
    others: list[tuple[str, str, IPv4Network]] = []
    automatic = (cloud.store.get(network) or {}).get("autoCreateSubnetworks")
    for other, document in cloud.store.list(resources.kind(SUBNETWORKS)):
        if document["network"] == network and other != name:
            taken = [document["ipCidrRange"], *(one["ipCidrRange"] for one in document.get("secondaryIpRanges", ()))]
            region = last_part(document["region"])
            others += [(document["name"], region, IPv4Network(text)) for text in taken]
    if automatic and whole and primary.overlaps(ranges.AUTO_MODE_RANGE):
        raise refusals.invalid_field(
            "resource.ipCidrRange",
            primary,
            f"Extended subnetworks in auto subnet mode networks cannot overlap with {ranges.AUTO_MODE_RANGE}.",
        )
    ranges.check_no_overlap(primary, others)
    others.append((last_part(name), name.split("/")[3], primary))
    for index, one in enumerate(secondary):
        field = f"resource.secondaryIpRanges[{index}]"
        check_name(one.get("rangeName"), f"{field}.rangeName")
        extra = ranges.check_subnetwork_range(one.get("ipCidrRange"), f"{field}.ipCidrRange")
        ranges.check_no_overlap(extra, others, f"{field}.ipCidrRange")
        others.append((last_part(name), name.split("/")[3], extra))


def _flow_logs(body: Mapping[str, Any]) -> bool:
    return bool(body.get("logConfig", {}).get("enable", body.get("enableFlowLogs", False)))


def _same(field: str, value: object, document: Mapping[str, Any]) -> bool:
    current = document.get(field)
    if field in ("network", "region") and isinstance(value, str) and isinstance(current, str):
        return last_part(value) == last_part(current)
    return value == current
