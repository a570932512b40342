"""What each zone offers: locations, accelerator types and runtime versions."""

from __future__ import annotations

from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.errors import ApiError, not_found
from rehearsal.emulator.handlers import Call, Json, operation
from rehearsal.emulator.paging import page
from rehearsal.emulator.services.tpu.list_filter import matches
from tpuwright.accelerators import Accelerator, table

CONFIG_TYPES = {
    "v2": "V2",
    "v3": "V3",
    "v4": "V4",
    "v5e": "V5LITE_POD",
    "v5p": "V5P",
    "v6e": "V6E",
}
"""AcceleratorConfig.type by generation."""
RUNTIME_VERSIONS = (
    "tpu-ubuntu2204-base",
    "tpu-vm-base",
    "tpu-vm-tf-2.17.0-pjrt",
    "tpu-vm-v4-base",
    "v2-alpha-tpuv5",
    "v2-alpha-tpuv5-lite",
    "v2-alpha-tpuv6e",
)
"""The versions that people use; Google lists many more, of frameworks long gone."""


def zones() -> tuple[str, ...]:
    """Every zone that offers a type."""
    return tuple(sorted({zone for accelerator in table().values() for zone in accelerator.generation.zones}))


def region_of(zone: str) -> str:
    return zone.rpartition("-")[0]


def types_in(zone: str) -> list[Accelerator]:
    """The accelerator types that a zone offers, in order of generation and size."""
    return [accelerator for accelerator in table().values() if zone in accelerator.generation.zones]


def check_location(cloud: Cloud, project: str, zone: str) -> None:
    """Raise ApiError when the project is another's, or no such zone serves Cloud TPU."""
    if project not in (cloud.project, cloud.project_number):
        raise ApiError(
            403,
            f"Permission denied on resource project {project}. "
            f"(This emulator's project is {cloud.project}; see tpuwright emulator status.)",
        )
    if zone not in zones() and zone != "-":
        raise not_found(f"Location {zone} is not found or access is unauthorized.")


def split_parent(cloud: Cloud, parent: str) -> tuple[str, str]:
    """(project, zone) of "projects/P/locations/Z", both checked."""
    _, project, _, zone = parent.split("/")[:4]
    check_location(cloud, project, zone)
    return project, zone


@operation("tpu.projects.locations.list")
async def list_locations(call: Call, cloud: Cloud) -> Json:
    check_location(cloud, call.path["name"].split("/")[1], "-")
    found = [_location(call.path["name"], zone) for zone in zones()]
    return page(call, "locations", [item for item in found if matches(item, call.query.get("filter"))])


@operation("tpu.projects.locations.get")
async def get_location(call: Call, cloud: Cloud) -> Json:
    project, zone = split_parent(cloud, call.path["name"])
    return _location(f"projects/{project}", zone)


@operation(
    "tpu.projects.locations.acceleratorTypes.list",
    checked="google-cloud-tpu, google-api-python-client",
    differs="the zones of tpuwright/accelerators.py, each with every size of its generations",
)
async def list_accelerator_types(call: Call, cloud: Cloud) -> Json:
    _, zone = split_parent(cloud, call.path["parent"])
    found = [_accelerator_type(call.path["parent"], accelerator) for accelerator in types_in(zone)]
    return page(call, "acceleratorTypes", [item for item in found if matches(item, call.query.get("filter"))])


@operation("tpu.projects.locations.acceleratorTypes.get", checked="google-cloud-tpu")
async def get_accelerator_type(call: Call, cloud: Cloud) -> Json:
    parent, _, wanted = call.path["name"].rpartition("/acceleratorTypes/")
    _, zone = split_parent(cloud, parent)
    for accelerator in types_in(zone):
        if accelerator.name == wanted:
            return _accelerator_type(parent, accelerator)
    raise not_found(f"Resource '{call.path['name']}' was not found")


@operation(
    "tpu.projects.locations.runtimeVersions.list", checked="google-cloud-tpu", differs="the versions in use today only"
)
async def list_runtime_versions(call: Call, cloud: Cloud) -> Json:
    split_parent(cloud, call.path["parent"])
    found = [_runtime_version(call.path["parent"], version) for version in RUNTIME_VERSIONS]
    return page(call, "runtimeVersions", [item for item in found if matches(item, call.query.get("filter"))])


@operation("tpu.projects.locations.runtimeVersions.get")
async def get_runtime_version(call: Call, cloud: Cloud) -> Json:
    parent, _, wanted = call.path["name"].rpartition("/runtimeVersions/")
    split_parent(cloud, parent)
    if wanted not in RUNTIME_VERSIONS:
        raise not_found(f"Resource '{call.path['name']}' was not found")
    return _runtime_version(parent, wanted)


def _location(project: str, zone: str) -> Json:
    return {
        "name": f"{project}/locations/{zone}",
        "locationId": zone,
        "labels": {"cloud.googleapis.com/region": region_of(zone)},
    }


def _accelerator_type(parent: str, accelerator: Accelerator) -> Json:
    shown: Json = {"name": f"{parent}/acceleratorTypes/{accelerator.name}", "type": accelerator.name}
    kind = CONFIG_TYPES.get(accelerator.generation.name)
    if kind is not None:
        shown["acceleratorConfigs"] = [{"type": kind, "topology": accelerator.topology}]
    return shown


def _runtime_version(parent: str, version: str) -> Json:
    return {"name": f"{parent}/runtimeVersions/{version}", "version": version}
