"""VPC networks."""

from __future__ import annotations

from collections.abc import Iterator

from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.errors import ApiError
from rehearsal.emulator.handlers import Call, Json, operation
from rehearsal.emulator.services.compute import catalog, refusals, rendering, resources
from rehearsal.emulator.services.compute.naming import check_name
from rehearsal.emulator.services.compute.ranges import gateway_of
from rehearsal.emulator.services.compute.references import (
    FIREWALLS,
    INSTANCES,
    NETWORKS,
    ROUTERS,
    SUBNETWORKS,
)
from rehearsal.emulator.services.compute.resources import mutation

_PATCHABLE = {"routingConfig", "networkFirewallPolicyEnforcementOrder", "mtu"}
_MTU = range(1300, 8897)


@mutation(
    "compute.networks.insert",
    checked="recorded pulumi-gcp, google-cloud-compute, google-api-python-client, gcloud",
    differs="IPv6, network profiles and legacy networks answer 501 or 400.",
)
async def insert_network(call: Call, cloud: Cloud) -> Json:
    body = call.body
    name = resources.full_name(call, cloud, NETWORKS, check_name(body.get("name")))
    if "IPv4Range" in body or "autoCreateSubnetworks" not in body:
        raise refusals.invalid_field(
            "resource.autoCreateSubnetworks", "", "Legacy networks can no longer be made: set it to true or false."
        )
    for field in ("enableUlaInternalIpv6", "networkProfile", "internalIpv6Range"):
        if body.get(field):
            raise ApiError(501, f"The field 'resource.{field}' of networks is not emulated.")
    fields = {key: value for key, value in body.items() if key != "params"}
    fields.setdefault("description", "")
    fields.setdefault("networkFirewallPolicyEnforcementOrder", "AFTER_CLASSIC_FIREWALL")
    fields["routingConfig"] = {"routingMode": "REGIONAL", **fields.get("routingConfig", {})}
    fields["mtu"] = _checked_mtu(fields.get("mtu", 1460))
    with cloud.store.transaction():
        document = resources.add(cloud, NETWORKS, name, fields)
        if body["autoCreateSubnetworks"]:
            _add_auto_subnetworks(cloud, name)
    return resources.begin(call, cloud, name, "insert", document)


@operation(
    "compute.networks.get", checked="recorded pulumi-gcp, google-cloud-compute, google-api-python-client, gcloud"
)
async def get_network(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, NETWORKS, call.path["network"])
    return shown(call, cloud, name, document)


@operation("compute.networks.list")
async def list_networks(call: Call, cloud: Cloud) -> Json:
    path = resources.path_of(call, cloud, NETWORKS)
    found = cloud.store.list(resources.kind(NETWORKS), f"{path}/")
    return rendering.listed(call, [shown(call, cloud, name, document) for name, document in found], NETWORKS, path)


@mutation("compute.networks.patch")
async def patch_network(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, NETWORKS, call.path["network"])
    for field, value in call.body.items():
        if field not in _PATCHABLE and value != document.get(field):
            raise refusals.invalid_field(f"resource.{field}", value, "The field of a network cannot be changed.")
    document.update(call.body)
    document["routingConfig"] = {"routingMode": "REGIONAL", **document.get("routingConfig", {})}
    document["mtu"] = _checked_mtu(document["mtu"])
    cloud.store.put(resources.kind(NETWORKS), name, document)
    return resources.begin(call, cloud, name, "patch", document)


@mutation("compute.networks.switchToCustomMode")
async def switch_to_custom_mode(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, NETWORKS, call.path["network"])
    if not document["autoCreateSubnetworks"]:
        raise ApiError(400, f"Network '{name}' is already in custom subnet mode.", reason="invalid")
    cloud.store.update(name, autoCreateSubnetworks=False)
    return resources.begin(call, cloud, name, "switchToCustomMode", document)


@mutation("compute.networks.delete", checked="recorded pulumi-gcp, google-cloud-compute, gcloud")
async def delete_network(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, NETWORKS, call.path["network"])
    user = next(users_of(cloud, name), None)
    if user is not None:
        raise refusals.in_use("network", name, user)
    with cloud.store.transaction():
        for subnetwork in subnetworks_of(cloud, name):
            cloud.store.delete(subnetwork)
        cloud.store.delete(name)
    return resources.begin(call, cloud, name, "delete", document)


def shown(call: Call, cloud: Cloud, name: str, document: Json) -> Json:
    """A network as Google shows it, with the subnetworks that it has now."""
    answer = rendering.rendered(call, name, document, NETWORKS)
    answer["selfLinkWithId"] = f"{call.base_url}{NETWORKS.full_name(cloud.project, None, document['id'])}"
    subnetworks = [call.base_url + subnetwork for subnetwork in subnetworks_of(cloud, name)]
    return {**answer, "subnetworks": subnetworks} if subnetworks else answer


def subnetworks_of(cloud: Cloud, network: str) -> list[str]:
    """Full names of the subnetworks of a network."""
    return [name for name, document in cloud.store.list(resources.kind(SUBNETWORKS)) if document["network"] == network]


def users_of(cloud: Cloud, network: str) -> Iterator[str]:
    """Full names of what keeps a network from being deleted."""
    automatic = (cloud.store.get(network) or {}).get("autoCreateSubnetworks", False)
    for name, document in cloud.store.list(resources.kind(INSTANCES)):
        if any(interface["network"] == network for interface in document["networkInterfaces"]):
            yield name
    for name in subnetworks_of(cloud, network):
        held = cloud.addresses.holders(name)
        if not automatic:
            yield name
        elif held:
            yield min(held.values())
    for collection in (FIREWALLS, ROUTERS):
        for name, document in cloud.store.list(resources.kind(collection)):
            if document["network"] == network:
                yield name


def _checked_mtu(mtu: int) -> int:
    if mtu not in _MTU:
        raise refusals.invalid_field("resource.mtu", mtu, f"Must be between {_MTU.start} and {_MTU.stop - 1}.")
    return mtu


def _add_auto_subnetworks(cloud: Cloud, network: str) -> None:
    """One /20 of 10.128.0.0/9 in each region, as an auto mode network has."""
    for region, auto_range in catalog.auto_subnetwork_ranges().items():
        name = SUBNETWORKS.full_name(cloud.project, region, network.rsplit("/", 1)[-1])
        resources.add(
            cloud,
            SUBNETWORKS,
            name,
            {
                "name": network.rsplit("/", 1)[-1],
                "description": "",
                "network": network,
                "region": f"projects/{cloud.project}/regions/{region}",
                "ipCidrRange": str(auto_range),
                "gatewayAddress": str(gateway_of(auto_range)),
                "privateIpGoogleAccess": False,
                "privateIpv6GoogleAccess": "DISABLE_GOOGLE_ACCESS",
                "purpose": "PRIVATE",
                "stackType": "IPV4_ONLY",
                "_automatic": True,
            },
        )
