"""Cloud Routers and the NATs in them; a subnetwork served by a NAT gets out of this machine's pod network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.errors import ApiError
from rehearsal.emulator.handlers import Call, Json, operation
from rehearsal.emulator.services.compute import host_network, nat_rules, refusals, rendering, resources
from rehearsal.emulator.services.compute.naming import check_name
from rehearsal.emulator.services.compute.references import (
    ADDRESSES,
    NETWORKS,
    ROUTERS,
    SUBNETWORKS,
    resolve,
)
from rehearsal.emulator.services.compute.resources import mutation

_NOT_EMULATED = ("bgpPeers", "interfaces", "md5AuthenticationKeys", "nccGateway")
_FIXED = ("id", "creationTimestamp", "name", "network", "region", "encryptedInterconnectRouter")


@mutation(
    "compute.routers.insert",
    checked="recorded pulumi-gcp, google-cloud-compute, gcloud",
    differs="BGP peers and interfaces answer 501.",
)
async def insert_router(call: Call, cloud: Cloud) -> Json:
    name = resources.full_name(call, cloud, ROUTERS, check_name(call.body.get("name")))
    given = call.body.get("network")
    if not given:
        raise refusals.required("resource.network")
    network = resolve(given, NETWORKS, project=cloud.project, field="resource.network")
    resources.referenced(cloud, NETWORKS, network, given, "resource.network")
    region = f"projects/{cloud.project}/regions/{call.path['region']}"
    resources.check_free(cloud, name)
    fields = {"description": "", "encryptedInterconnectRouter": False, **call.body}
    document = resources.add(
        cloud, ROUTERS, name, _checked(cloud, name, {**fields, "network": network, "region": region})
    )
    return _begin(call, cloud, name, "insert", document)


@operation("compute.routers.get", checked="recorded pulumi-gcp, google-cloud-compute, gcloud")
async def get_router(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, ROUTERS, call.path["router"])
    return rendering.rendered(call, name, document, ROUTERS)


@operation("compute.routers.list")
async def list_routers(call: Call, cloud: Cloud) -> Json:
    return resources.listing(call, cloud, ROUTERS)


@operation("compute.routers.aggregatedList")
async def aggregate_routers(call: Call, cloud: Cloud) -> Json:
    return resources.aggregate(call, cloud, ROUTERS)


@mutation("compute.routers.patch", checked="recorded pulumi-gcp, gcloud")
async def patch_router(call: Call, cloud: Cloud) -> Json:
    return _change(call, cloud, "patch")


@mutation("compute.routers.update")
async def update_router(call: Call, cloud: Cloud) -> Json:
    return _change(call, cloud, "update")


@mutation("compute.routers.delete", checked="recorded pulumi-gcp, gcloud")
async def delete_router(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, ROUTERS, call.path["router"])
    cloud.store.delete(name)
    return _begin(call, cloud, name, "delete", document)


def _change(call: Call, cloud: Cloud, verb: str) -> Json:
    """Patch changes the fields that are given, update replaces all but what cannot change."""
    name, document = resources.find(call, cloud, ROUTERS, call.path["router"])
    fields = dict(call.body)
    if fields.get("name", document["name"]) != document["name"]:
        raise refusals.invalid_field("resource.name", fields["name"], "The name of a router cannot be changed.")
    given = fields.pop("network", None)
    if given:
        network = resolve(given, NETWORKS, project=cloud.project, field="resource.network")
        if network != document["network"]:
            raise refusals.invalid_field("resource.network", given, "The network of a router cannot be changed.")
    base = document if verb == "patch" else {key: document[key] for key in _FIXED}
    changed = _checked(cloud, name, {"description": "", **base, **fields})
    cloud.store.put(resources.kind(ROUTERS), name, changed)
    return _begin(call, cloud, name, verb, changed)


def _checked(cloud: Cloud, name: str, fields: Mapping[str, Any]) -> Json:
    """The router with its NATs completed; ApiError when one of them cannot be."""
    router = {key: value for key, value in fields.items() if key != "params" and value not in ([], None)}
    for field in _NOT_EMULATED:
        if field in router:
            raise ApiError(501, f"The field 'resource.{field}' of routers is not emulated.")
    region = router["region"].rsplit("/", 1)[-1]
    nats = nat_rules.complete_all(router.pop("nats", ()), cloud.project, region)
    for index, nat in enumerate(nats):
        _check_references(cloud, nat, f"resource.nats[{index}]", router["network"], region)
    others = [
        nat
        for other, document in cloud.store.list(resources.kind(ROUTERS))
        if other != name and (document["network"], document["region"]) == (router["network"], router["region"])
        for nat in document.get("nats", ())
    ]
    nat_rules.check_no_clash(nats, others)
    return {**router, "nats": nats} if nats else router


def _check_references(cloud: Cloud, nat: Json, field: str, network: str, region: str) -> None:
    for number, entry in enumerate(nat.get("subnetworks", ())):
        where = f"{field}.subnetworks[{number}].name"
        subnetwork = resources.referenced(cloud, SUBNETWORKS, entry["name"], entry["name"], where)
        if subnetwork["network"] != network or not entry["name"].startswith(
            f"projects/{cloud.project}/regions/{region}/"
        ):
            raise refusals.invalid_field(
                where, entry["name"], "The subnetwork must be in the network and the region of the router."
            )
    for key in ("natIps", "drainNatIps"):
        names = [
            resolve(value, ADDRESSES, project=cloud.project, place=region, field=f"{field}.{key}[{number}]")
            for number, value in enumerate(nat.get(key, ()))
        ]
        for number, address in enumerate(names):
            resources.referenced(cloud, ADDRESSES, address, nat[key][number], f"{field}.{key}[{number}]")
        if names:
            nat[key] = names


def _begin(call: Call, cloud: Cloud, name: str, verb: str, document: Json) -> Json:
    args = {"network": document["network"], "region": document["region"]}
    return resources.begin(call, cloud, name, verb, document, work=host_network.APPLY_NAT, args=args)
