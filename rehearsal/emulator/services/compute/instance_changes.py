"""Changes to an instance that exists: metadata, tags, labels, protection; and what its guest publishes."""

from __future__ import annotations

from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.errors import ApiError
from rehearsal.emulator.handlers import Call, Json, operation
from rehearsal.emulator.services.compute import disks, instance_rules, refusals, rendering, resources
from rehearsal.emulator.services.compute.naming import check_labels, check_tags
from rehearsal.emulator.services.compute.references import INSTANCES
from rehearsal.emulator.services.compute.resources import mutation


@mutation("compute.instances.setMetadata", checked="gcloud")
async def set_metadata(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, INSTANCES, call.path["instance"])
    _check_fingerprint(call, name, document, "metadata")
    items = instance_rules.checked_metadata(call.body.get("items", ()), "items")
    cloud.store.update(name, metadata={"items": items})
    return resources.begin(call, cloud, name, "setMetadata", document)


@mutation("compute.instances.setTags", checked="gcloud")
async def set_tags(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, INSTANCES, call.path["instance"])
    _check_fingerprint(call, name, document, "tags")
    tags = list(call.body.get("items", ()))
    check_tags(tags, "items")
    cloud.store.update(name, tags={"items": tags})
    if name in await cloud.hosts.states():
        await cloud.hosts.set_tags(name, tags)
    return resources.begin(call, cloud, name, "setTags", document)


@mutation("compute.instances.setLabels")
async def set_instance_labels(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, INSTANCES, call.path["instance"])
    disks.check_label_fingerprint(call, document)
    labels = call.body.get("labels", {})
    check_labels(labels, "labels")
    cloud.store.update(name, labels=labels or None)
    return resources.begin(call, cloud, name, "setLabels", document)


@mutation("compute.instances.setDeletionProtection")
async def set_deletion_protection(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, INSTANCES, call.path["resource"])
    cloud.store.update(name, deletionProtection=call.query.get("deletionProtection", True))
    return resources.begin(call, cloud, name, "setDeletionProtection", document)


@operation("compute.instances.getGuestAttributes")
async def get_guest_attributes(call: Call, cloud: Cloud) -> Json:
    name, _ = resources.find(call, cloud, INSTANCES, call.path["instance"])
    query, key = call.query.get("queryPath", ""), call.query.get("variableKey")
    if query and key:
        raise ApiError(400, "Only one of 'queryPath' and 'variableKey' can be given.", reason="invalid")
    namespace, _, wanted = (key or query).strip("/").partition("/")
    found = [
        {"namespace": space, "key": attribute, "value": value}
        for space, attribute, value in cloud.store.guest_attributes(name)
        if namespace in ("", space) and wanted in ("", attribute)
    ]
    if not found:
        raise ApiError(404, f"The resource '{key or query}' of type 'Guest Attribute' was not found.")
    answer: Json = {
        "kind": "compute#guestAttributes",
        "selfLink": f"{call.base_url}{name}/getGuestAttributes",
    }
    if key:
        return {**answer, "variableKey": key, "variableValue": found[0]["value"]}
    return {**answer, "queryPath": query, "queryValue": {"items": found}}


def _check_fingerprint(call: Call, name: str, document: Json, part: str) -> None:
    """ApiError 412 unless the request shows the fingerprint that the part has now."""
    current = rendering.rendered(call, name, document, INSTANCES)[part]["fingerprint"]
    if not rendering.same_fingerprint(call.body.get("fingerprint"), current):
        raise refusals.fingerprint_mismatch(f"Supplied fingerprint does not match current {part} fingerprint.")
