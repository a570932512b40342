"""Machine types, disk types and public images: what may be asked for, from the catalogue."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.handlers import Call, Json, operation
from rehearsal.emulator.operations import number_of
from rehearsal.emulator.services.compute import catalog, refusals, rendering, resources
from rehearsal.emulator.services.compute.references import (
    DISK_TYPES,
    IMAGES,
    MACHINE_TYPES,
    Collection,
)

_SINCE = rendering.timestamp(datetime(2026, 10, 14, tzinfo=UTC))
_IMAGE = re.compile(
    r"(?:https?://[^/]+/(?:compute/)?(?:v1|beta)/)?"
    r"(?:projects/(?P<project>[a-z0-9.:-]+)/)?"
    r"(?:global/images/(?P<family>family/)?|zones/[^/]+/(?P<view>imageFamilyViews)/)(?P<name>[^/]+)"
)


def find_image(value: str, field: str) -> catalog.Image:
    """The public image that a reference names, by itself or by family; ApiError 400 when there is none."""
    match = _IMAGE.fullmatch(value)
    if match is None:
        raise refusals.invalid_field(field, value, "The URL is malformed.")
    for image in catalog.IMAGES:
        wanted = image.family if match["family"] or match["view"] else image.name
        if (match["project"], match["name"]) == (image.project, wanted):
            return image
    raise refusals.invalid_field(field, value, "The referenced image resource cannot be found.")


def image_name(image: catalog.Image) -> str:
    """projects/debian-cloud/global/images/..."""
    return IMAGES.full_name(image.project, None, image.name)


@operation("compute.images.get", differs="Public images of the catalogue only.")
async def get_image(call: Call, cloud: Cloud) -> Json:  # noqa: ARG001 - handlers have one shape
    return _one_image(call, lambda image: image.name == call.path["image"], call.path["image"])


@operation("compute.images.getFromFamily", differs="Public images of the catalogue only.")
async def get_image_from_family(call: Call, cloud: Cloud) -> Json:  # noqa: ARG001 - handlers have one shape
    return _one_image(call, lambda image: image.family == call.path["family"], f"family/{call.path['family']}")


@operation("compute.images.list", differs="Public images of the catalogue only.")
async def list_images(call: Call, cloud: Cloud) -> Json:  # noqa: ARG001 - handlers have one shape
    items = [_image(call, image) for image in catalog.IMAGES if image.project == call.path["project"]]
    return rendering.listed(call, items, IMAGES, f"projects/{call.path['project']}/global/images")


@operation("compute.machineTypes.get", differs="E2, N1, N2 and the TPU types only.")
async def get_machine_type(call: Call, cloud: Cloud) -> Json:
    return _one(call, cloud, MACHINE_TYPES, call.path["machineType"], _machine_types())


@operation("compute.machineTypes.list", differs="E2, N1, N2 and the TPU types only, the same in every zone.")
async def list_machine_types(call: Call, cloud: Cloud) -> Json:
    return _all(call, cloud, MACHINE_TYPES, _machine_types())


@operation("compute.machineTypes.aggregatedList", differs="E2, N1, N2 and the TPU types only.")
async def aggregate_machine_types(call: Call, cloud: Cloud) -> Json:
    return _everywhere(call, cloud, MACHINE_TYPES, _machine_types())


@operation("compute.diskTypes.get")
async def get_disk_type(call: Call, cloud: Cloud) -> Json:
    return _one(call, cloud, DISK_TYPES, call.path["diskType"], _disk_types())


@operation("compute.diskTypes.list")
async def list_disk_types(call: Call, cloud: Cloud) -> Json:
    return _all(call, cloud, DISK_TYPES, _disk_types())


@operation("compute.diskTypes.aggregatedList")
async def aggregate_disk_types(call: Call, cloud: Cloud) -> Json:
    return _everywhere(call, cloud, DISK_TYPES, _disk_types())


def _one_image(call: Call, fits: Callable[[catalog.Image], bool], asked: str) -> Json:
    for image in catalog.IMAGES:
        if image.project == call.path["project"] and fits(image):
            return _image(call, image)
    raise refusals.not_found(f"projects/{call.path['project']}/global/images/{asked}")


def _image(call: Call, image: catalog.Image) -> Json:
    root = f"{call.base_url}projects/{image.project}/global"
    return {
        "kind": "compute#image",
        "id": number_of(image.name),
        "creationTimestamp": _SINCE,
        "name": image.name,
        "description": image.description,
        "family": image.family,
        "architecture": image.architecture,
        "sourceType": "RAW",
        "status": "READY",
        "diskSizeGb": str(image.size_gb),
        "guestOsFeatures": [{"type": "UEFI_COMPATIBLE"}, {"type": "VIRTIO_SCSI_MULTIQUEUE"}, {"type": "GVNIC"}],
        "licenses": [f"{root}/licenses/{image.family}"],
        "labelFingerprint": rendering.NOTHING,
        "selfLink": f"{root}/images/{image.name}",
    }


def _machine_types() -> dict[str, Json]:
    return {
        one.name: {
            "id": number_of(one.name)[:6],
            "creationTimestamp": _SINCE,
            "name": one.name,
            "description": f"{one.cpus} vCPUs, {one.memory_mb / 1024:g} GB RAM",
            "guestCpus": one.cpus,
            "memoryMb": one.memory_mb,
            "isSharedCpu": one.shared,
            "architecture": "X86_64",
            "maximumPersistentDisks": 16 if one.shared else 128,
            "maximumPersistentDisksSizeGb": "3072" if one.shared else "263168",
        }
        for one in catalog.MACHINE_TYPES.values()
    }


def _disk_types() -> dict[str, Json]:
    return {
        one.name: {
            "id": number_of(one.name)[:5],
            "creationTimestamp": _SINCE,
            "name": one.name,
            "description": one.description,
            "validDiskSize": one.valid_sizes,
            "defaultDiskSizeGb": str(one.default_gb),
        }
        for one in catalog.DISK_TYPES.values()
    }


def _shown(call: Call, cloud: Cloud, collection: Collection, document: Mapping[str, object], zone: str) -> Json:
    place: Json = {"zone": zone} if collection is MACHINE_TYPES else {"zone": f"projects/{cloud.project}/zones/{zone}"}
    name = collection.full_name(cloud.project, zone, str(document["name"]))
    return rendering.rendered(call, name, {**document, **place}, collection)


def _one(call: Call, cloud: Cloud, collection: Collection, name: str, offers: Mapping[str, Json]) -> Json:
    full_name = resources.full_name(call, cloud, collection, name)
    if name not in offers:
        raise refusals.not_found(full_name)
    return _shown(call, cloud, collection, offers[name], call.path["zone"])


def _all(call: Call, cloud: Cloud, collection: Collection, offers: Mapping[str, Json]) -> Json:
    path = resources.path_of(call, cloud, collection)
    items = [_shown(call, cloud, collection, offer, call.path["zone"]) for offer in offers.values()]
    return rendering.listed(call, items, collection, path)


def _everywhere(call: Call, cloud: Cloud, collection: Collection, offers: Mapping[str, Json]) -> Json:
    resources.project_of(call, cloud)
    items = [
        _shown(call, cloud, collection, offer, zone) for zone in catalog.REGION_OF_ZONE for offer in offers.values()
    ]
    return rendering.aggregated(call, items, collection, [f"zones/{zone}" for zone in catalog.REGION_OF_ZONE])
