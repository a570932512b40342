"""Persistent disks: their records. A rehearsal's hosts keep their data in their containers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.errors import ApiError
from rehearsal.emulator.handlers import Call, Json, operation
from rehearsal.emulator.operations import number_of
from rehearsal.emulator.services.compute import catalog, offers, refusals, rendering, resources
from rehearsal.emulator.services.compute.naming import check_labels, check_name
from rehearsal.emulator.services.compute.references import (
    DISK_TYPES,
    DISKS,
    INSTANCES,
    last_part,
    resolve,
)
from rehearsal.emulator.services.compute.resources import mutation

_NOT_EMULATED = (
    "sourceSnapshot",
    "sourceDisk",
    "sourceInstantSnapshot",
    "diskEncryptionKey",
    "resourcePolicies",
    "replicaZones",
    "storagePool",
    "sourceStorageObject",
)
_DIFFERS = "Records only: hosts keep their data in their containers."


@mutation("compute.disks.insert", checked="recorded pulumi-gcp, google-cloud-compute", differs=_DIFFERS)
async def insert_disk(call: Call, cloud: Cloud) -> Json:
    body = {key: value for key, value in call.body.items() if value not in ([], {}, "") and key != "params"}
    name = resources.full_name(call, cloud, DISKS, check_name(body.get("name")))
    zone = call.path["zone"]
    if call.query.get("sourceImage"):
        body["sourceImage"] = call.query["sourceImage"]
    resources.check_free(cloud, name)
    document = resources.add(cloud, DISKS, name, new_disk(body, cloud.project, zone))
    return resources.begin(call, cloud, name, "insert", document)


@operation("compute.disks.get", checked="recorded pulumi-gcp, google-cloud-compute")
async def get_disk(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, DISKS, call.path["disk"])
    return _shown(call, cloud, name, document)


@operation("compute.disks.list")
async def list_disks(call: Call, cloud: Cloud) -> Json:
    path = resources.path_of(call, cloud, DISKS)
    found = cloud.store.list(resources.kind(DISKS), f"{path}/")
    return rendering.listed(call, [_shown(call, cloud, name, disk) for name, disk in found], DISKS, path)


@operation("compute.disks.aggregatedList")
async def aggregate_disks(call: Call, cloud: Cloud) -> Json:
    found = cloud.store.list(resources.kind(DISKS), f"projects/{resources.project_of(call, cloud)}/")
    places = [f"zones/{zone}" for zone in catalog.REGION_OF_ZONE]
    return rendering.aggregated(call, [_shown(call, cloud, name, disk) for name, disk in found], DISKS, places)


@mutation("compute.disks.setLabels")
async def set_disk_labels(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, DISKS, call.path["resource"])
    check_label_fingerprint(call, document)
    labels = call.body.get("labels", {})
    check_labels(labels, "labels")
    cloud.store.update(name, labels=labels or None)
    return resources.begin(call, cloud, name, "setLabels", document)


@mutation("compute.disks.resize", differs=_DIFFERS)
async def resize_disk(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, DISKS, call.path["disk"])
    size, now = int(call.body.get("sizeGb", 0)), int(document["sizeGb"])
    if size <= now:
        raise refusals.invalid_field(
            "sizeGb", size, f"New disk size '{size}' must be larger than existing size '{now}'."
        )
    _check_size(size, catalog.DISK_TYPES[last_part(document["type"])], "sizeGb")
    cloud.store.update(name, sizeGb=str(size))
    return resources.begin(call, cloud, name, "resizeDisk", document)


@mutation("compute.disks.delete", checked="recorded pulumi-gcp, gcloud", differs=_DIFFERS)
async def delete_disk(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, DISKS, call.path["disk"])
    user = next(iter(users_of(cloud, name)), None)
    if user is not None:
        raise refusals.in_use("disk", name, user)
    cloud.store.delete(name)
    return resources.begin(call, cloud, name, "delete", document)


def new_disk(wanted: Mapping[str, Any], project: str, zone: str, field: str = "resource") -> Json:
    """The record of a disk to be, completed; `wanted` is a Disk or what initializeParams say of one.

    ApiError 400 for a type, image or size that does not exist; 501 for other sources.
    """
    for key in _NOT_EMULATED:
        if key in wanted:
            raise ApiError(501, f"The field '{field}.{key}' of disks is not emulated.")
    given = wanted.get("type") or f"projects/{project}/zones/{zone}/diskTypes/pd-standard"
    full_type = resolve(given, DISK_TYPES, project=project, place=zone, field=f"{field}.type")
    disk_type = catalog.DISK_TYPES.get(last_part(full_type))
    if disk_type is None or full_type != DISK_TYPES.full_name(project, zone, disk_type.name):
        raise refusals.invalid_field(f"{field}.type", given, "The referenced disk type resource cannot be found.")
    labels = wanted.get("labels", {})
    check_labels(labels, f"{field}.labels")
    image = offers.find_image(wanted["sourceImage"], f"{field}.sourceImage") if wanted.get("sourceImage") else None
    size = int(wanted.get("sizeGb") or (image.size_gb if image else disk_type.default_gb))
    if image is not None and size < image.size_gb:
        raise refusals.invalid_field(
            f"{field}.sizeGb",
            size,
            f"Requested disk size cannot be smaller than the image size ({image.size_gb} GB)",
        )
    _check_size(size, disk_type, f"{field}.sizeGb")
    disk: Json = {
        "name": wanted["name"],
        "description": wanted.get("description", ""),
        "zone": f"projects/{project}/zones/{zone}",
        "sizeGb": str(size),
        "type": full_type,
        "status": "READY",
        "physicalBlockSizeBytes": str(wanted.get("physicalBlockSizeBytes", 4096)),
        "enableConfidentialCompute": False,
    }
    if labels:
        disk["labels"] = dict(labels)
    if image is not None:
        disk["sourceImage"] = offers.image_name(image)
        disk["sourceImageId"] = number_of(image.name)
        disk["licenses"] = [f"projects/{image.project}/global/licenses/{image.family}"]
        disk["architecture"] = image.architecture
        disk["guestOsFeatures"] = [{"type": "UEFI_COMPATIBLE"}, {"type": "VIRTIO_SCSI_MULTIQUEUE"}]
    return disk


def users_of(cloud: Cloud, disk: str) -> list[str]:
    """Full names of the instances that have the disk."""
    zone = disk.partition("/disks/")[0]
    return [
        name
        for name, document in cloud.store.list(resources.kind(INSTANCES), f"{zone}/")
        if any(attached.get("source") == disk for attached in document["disks"])
    ]


def check_label_fingerprint(call: Call, document: Mapping[str, Any]) -> None:
    """ApiError 412 unless the request shows the fingerprint of the labels that are there now."""
    given, current = call.body.get("labelFingerprint"), rendering.fingerprint(document.get("labels"))
    if not rendering.same_fingerprint(given, current):
        raise refusals.fingerprint_mismatch("Labels fingerprint either invalid or resource labels have changed")


def _check_size(size: int, disk_type: catalog.DiskType, field: str) -> None:
    if not disk_type.smallest_gb <= size <= disk_type.largest_gb:
        raise refusals.invalid_field(
            field, size, f"Disk size of type {disk_type.name} must be within {disk_type.valid_sizes}."
        )


def _shown(call: Call, cloud: Cloud, name: str, document: Json) -> Json:
    users = users_of(cloud, name)
    return rendering.rendered(call, name, {**document, "users": users} if users else document, DISKS)
