"""What an instance may say of itself, and what Google fills in; nothing here looks at other resources.

Sources: the `Instance` schema of Compute's discovery document,
https://cloud.google.com/compute/docs/metadata/setting-custom-metadata (limits) and
https://cloud.google.com/compute/docs/instances/spot (what a spot instance may not have).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rehearsal.emulator.errors import ApiError
from rehearsal.emulator.services.compute import catalog
from rehearsal.emulator.services.compute.naming import check_labels, check_name, check_tags
from rehearsal.emulator.services.compute.references import MACHINE_TYPES, last_part, resolve
from rehearsal.emulator.services.compute.refusals import invalid_field, not_a_match, required

LONGEST_METADATA_VALUE = 256 * 1024
LONGEST_METADATA = 512 * 1024
_METADATA_KEY = re.compile(r"[a-zA-Z0-9-_]{1,128}")
_NOT_EMULATED = (
    "guestAccelerators",
    "resourcePolicies",
    "sourceMachineImage",
    "instanceEncryptionKey",
    "confidentialInstanceConfig",
    "networkPerformanceConfig",
)


def complete(body: Mapping[str, Any], project: str, zone: str) -> dict[str, Any]:
    """The instance with Google's defaults, its disks and interfaces still as the request has them.

    ApiError 400 with Google's sentence for what it does not take, 501 naming a field that is not emulated.
    """
    instance = {key: value for key, value in body.items() if value not in ([], {}, None) and key != "params"}
    for field in _NOT_EMULATED:
        if field in instance:
            raise ApiError(501, f"The field 'resource.{field}' of instances is not emulated.")
    check_name(instance.get("name"))
    instance["machineType"] = _machine_type(instance.get("machineType"), project, zone)
    instance["scheduling"] = complete_scheduling(instance.get("scheduling", {}))
    check_labels(instance.get("labels", {}))
    instance["tags"] = {"items": list(instance.get("tags", {}).get("items", ()))}
    check_tags(instance["tags"]["items"], "resource.tags.items")
    instance["metadata"] = {"items": checked_metadata(instance.get("metadata", {}).get("items", ()))}
    instance.setdefault("canIpForward", False)
    instance.setdefault("deletionProtection", False)
    instance.setdefault("description", "")
    instance["shieldedInstanceConfig"] = {
        "enableSecureBoot": False,
        "enableVtpm": True,
        "enableIntegrityMonitoring": True,
        **instance.get("shieldedInstanceConfig", {}),
    }
    instance["shieldedInstanceIntegrityPolicy"] = {"updateAutoLearnPolicy": True}
    _check_counts(instance)
    return instance


def complete_scheduling(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Scheduling with its defaults; ApiError 400 where it contradicts itself."""
    scheduling = {key: value for key, value in wanted.items() if value not in ("", [], None)}
    spot = scheduling.get("provisioningModel") == "SPOT" or bool(scheduling.get("preemptible"))
    scheduling.setdefault("provisioningModel", "SPOT" if spot else "STANDARD")
    scheduling["preemptible"] = spot
    scheduling.setdefault("automaticRestart", not spot)
    scheduling.setdefault("onHostMaintenance", "TERMINATE" if spot else "MIGRATE")
    field = "resource.scheduling"
    if spot and scheduling["automaticRestart"]:
        raise invalid_field(
            field, "", "Scheduling must have automatic restart be false when the instance is preemptible or Spot."
        )
    if spot and scheduling["onHostMaintenance"] != "TERMINATE":
        raise invalid_field(
            field, "", "Scheduling must have on host maintenance TERMINATE when the instance is preemptible or Spot."
        )
    if not spot and scheduling.get("instanceTerminationAction") and "maxRunDuration" not in scheduling:
        raise invalid_field(
            f"{field}.instanceTerminationAction",
            scheduling["instanceTerminationAction"],
            "You cannot specify a termination action for a VM instance that has the standard provisioning model.",
        )
    return scheduling


def checked_metadata(
    items: Sequence[Mapping[str, str]], field: str = "resource.metadata.items"
) -> list[dict[str, str]]:
    """Metadata items as they are kept; ApiError 400 for a key given twice, malformed, or a value too long."""
    kept: dict[str, str] = {}
    for index, item in enumerate(items):
        key, value = item.get("key"), item.get("value", "")
        if key is None:
            raise required(f"{field}[{index}].key")
        if not _METADATA_KEY.fullmatch(key):
            raise not_a_match(f"{field}[{index}].key", key, _METADATA_KEY.pattern)
        if key in kept:
            raise invalid_field(f"{field}[{index}].key", key, f"Metadata has duplicate key: {key}")
        if len(value.encode()) > LONGEST_METADATA_VALUE:
            raise invalid_field(
                f"{field}[{index}].value",
                f"{value[:32]}...",
                f"The value is longer than {LONGEST_METADATA_VALUE} bytes.",
            )
        kept[key] = value
    if sum(len(key) + len(value.encode()) for key, value in kept.items()) > LONGEST_METADATA:
        raise invalid_field(field, "", f"Metadata is longer than {LONGEST_METADATA} bytes in all.")
    return [{"key": key, "value": value} for key, value in kept.items()]


def _machine_type(value: str | None, project: str, zone: str) -> str:
    if not value:
        raise required("resource.machineType")
    # Google takes a bare name in templates only; here as well "zones/Z/machineTypes/T" is what it asks for.
    if "/" not in value:
        raise invalid_field("resource.machineType", value, "The URL is malformed.")
    full_name = resolve(value, MACHINE_TYPES, project=project, place=zone, field="resource.machineType")
    name = last_part(full_name)
    if full_name != MACHINE_TYPES.full_name(project, zone, name) or name not in catalog.MACHINE_TYPES:
        raise invalid_field(
            "resource.machineType",
            value,
            f"Machine type with name '{name}' does not exist in zone '{zone}'.",
        )
    return full_name


def _check_counts(instance: Mapping[str, Any]) -> None:
    disks = instance.get("disks", ())
    if not disks:
        raise invalid_field("resource.disks", "", "No disks are specified.")
    if not disks[0].get("boot") or sum(bool(disk.get("boot")) for disk in disks) != 1:
        raise invalid_field("resource.disks[0].boot", "", "Exactly one boot disk is needed, and it must be the first.")
    interfaces = instance.get("networkInterfaces", ())
    if not interfaces:
        raise invalid_field("resource.networkInterfaces", "", "At least one network interface is required.")
    if len(interfaces) > 1:
        raise ApiError(501, "Instances with more than one network interface are not emulated.")
    if len(instance.get("serviceAccounts", ())) > 1:
        raise invalid_field("resource.serviceAccounts", "", "At most one service account can be specified.")
