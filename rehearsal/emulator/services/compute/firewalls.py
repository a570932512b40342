"""VPC firewall rules; every change reaches the hosts before its operation is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.handlers import Call, Json, operation
from rehearsal.emulator.services.compute import firewall_rules, host_network, refusals, rendering, resources
from rehearsal.emulator.services.compute.naming import check_name
from rehearsal.emulator.services.compute.references import FIREWALLS, NETWORKS, resolve
from rehearsal.emulator.services.compute.resources import mutation

_FIXED = ("id", "creationTimestamp", "name", "network", "direction")


@mutation(
    "compute.firewalls.insert",
    checked="recorded pulumi-gcp, google-cloud-compute, gcloud",
    differs="Rules by service account answer 501.",
)
async def insert_firewall(call: Call, cloud: Cloud) -> Json:
    name = resources.full_name(call, cloud, FIREWALLS, check_name(call.body.get("name")))
    network = _network_of(call.body, cloud, "global/networks/default")
    fields = {key: value for key, value in call.body.items() if key != "params"}
    document = resources.add(cloud, FIREWALLS, name, {**firewall_rules.complete(fields), "network": network})
    return _begin(call, cloud, name, "insert", document)


@operation("compute.firewalls.get", checked="recorded pulumi-gcp, google-cloud-compute, gcloud")
async def get_firewall(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, FIREWALLS, call.path["firewall"])
    return rendering.rendered(call, name, document, FIREWALLS)


@operation("compute.firewalls.list")
async def list_firewalls(call: Call, cloud: Cloud) -> Json:
    return resources.listing(call, cloud, FIREWALLS)


@mutation("compute.firewalls.patch", checked="recorded pulumi-gcp")
async def patch_firewall(call: Call, cloud: Cloud) -> Json:
    return _change(call, cloud, "patch")


@mutation("compute.firewalls.update")
async def update_firewall(call: Call, cloud: Cloud) -> Json:
    return _change(call, cloud, "update")


@mutation("compute.firewalls.delete", checked="recorded pulumi-gcp, gcloud")
async def delete_firewall(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, FIREWALLS, call.path["firewall"])
    cloud.store.delete(name)
    return _begin(call, cloud, name, "delete", document)


def _change(call: Call, cloud: Cloud, verb: str) -> Json:
    """Patch changes the fields that are given, update replaces all but what cannot change."""
    name, document = resources.find(call, cloud, FIREWALLS, call.path["firewall"])
    fields = {key: value for key, value in call.body.items() if key != "params"}
    if fields.get("name", document["name"]) != document["name"]:
        raise refusals.invalid_field("resource.name", fields["name"], "The name of a firewall cannot be changed.")
    if fields.get("direction", document["direction"]) != document["direction"]:
        raise refusals.invalid_field(
            "resource.direction", fields["direction"], "The direction of a firewall cannot be changed."
        )
    network = _network_of(fields, cloud, document["network"])
    if network != document["network"]:
        raise refusals.invalid_field(
            "resource.network", fields["network"], "The network of a firewall cannot be changed."
        )
    base = document if verb == "patch" else {key: document[key] for key in _FIXED}
    changed = {**firewall_rules.complete({**base, **fields}), "network": network}
    cloud.store.put(resources.kind(FIREWALLS), name, changed)
    return _begin(call, cloud, name, verb, changed)


def _begin(call: Call, cloud: Cloud, name: str, verb: str, document: Json) -> Json:
    return resources.begin(call, cloud, name, verb, document, work=host_network.APPLY_FIREWALL)


def _network_of(body: Mapping[str, Any], cloud: Cloud, default: str) -> str:
    given = body.get("network") or default
    network = resolve(given, NETWORKS, project=cloud.project, field="resource.network")
    resources.referenced(cloud, NETWORKS, network, given, "resource.network")
    return network
