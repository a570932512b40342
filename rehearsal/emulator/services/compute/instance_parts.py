"""The parts of an instance that need other resources: its disks, its interface, its service account."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rehearsal.emulator.addresses import AddressTaken, NoRoom
from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.errors import ApiError
from rehearsal.emulator.handlers import Json
from rehearsal.emulator.services import iam_accounts
from rehearsal.emulator.services.compute import addresses, disks, refusals, resources
from rehearsal.emulator.services.compute.naming import check_name
from rehearsal.emulator.services.compute.ranges import gateway_of, parse_cidr
from rehearsal.emulator.services.compute.references import (
    DISKS,
    NETWORKS,
    SUBNETWORKS,
    last_part,
    region_of,
    resolve,
)

_FIELD = "resource.networkInterfaces[0]"


def resolved_interface(wanted: Mapping[str, Any], cloud: Cloud, zone: str) -> Json:
    """The interface with its network and subnetwork as full names; ApiError 400 when they do not fit."""
    region = region_of(zone)
    if wanted.get("subnetwork"):
        given = wanted["subnetwork"]
        subnetwork = resolve(given, SUBNETWORKS, project=cloud.project, place=region, field=f"{_FIELD}.subnetwork")
        document = resources.referenced(cloud, SUBNETWORKS, subnetwork, given, f"{_FIELD}.subnetwork")
        if last_part(document["region"]) != region:
            raise refusals.invalid_field(
                f"{_FIELD}.subnetwork", given, f"Subnetwork must be in the region of the instance, '{region}'."
            )
        if wanted.get("network"):
            network = resolve(wanted["network"], NETWORKS, project=cloud.project, field=f"{_FIELD}.network")
            if network != document["network"]:
                raise ApiError(
                    400,
                    f'Subnetwork "{subnetwork}" is not valid for Network "{last_part(network)}".',
                    reason="badRequest",
                )
    else:
        subnetwork, document = _default_subnetwork(wanted, cloud, region)
    if document.get("_deleting"):
        raise refusals.not_ready(subnetwork)
    for field in ("aliasIpRanges", "ipv6AccessConfigs", "ipv6Address", "networkAttachment", "vlan"):
        if wanted.get(field):
            raise ApiError(501, f"The field '{_FIELD}.{field}' is not emulated.")
    interface: Json = {
        "kind": "compute#networkInterface",
        "name": "nic0",
        "network": document["network"],
        "subnetwork": subnetwork,
        "stackType": "IPV4_ONLY",
    }
    if wanted.get("nicType"):
        interface["nicType"] = wanted["nicType"]
    return interface


def take_addresses(wanted: Mapping[str, Any], interface: Json, cloud: Cloud, name: str) -> None:
    """Give the interface its internal address, and its external one when it asks for one.

    Raises ApiError; one whose reason is in capitals belongs into the operation, as on Google.
    """
    subnetwork = interface["subnetwork"]
    held = resources.existing(cloud, SUBNETWORKS, subnetwork)["ipCidrRange"]
    ip = wanted.get("networkIP")
    if ip is not None:
        inside = parse_cidr(held, "")
        if parse_cidr(f"{ip}/32", f"{_FIELD}.networkIP")[0] not in inside:
            raise refusals.invalid_field(
                f"{_FIELD}.networkIP", ip, "Requested internal IP is outside the subnetwork CIDR range."
            )
        if ip in (str(inside[0]), str(gateway_of(inside)), str(inside[-2]), str(inside[-1])):
            raise refusals.invalid_field(f"{_FIELD}.networkIP", ip, "Requested internal IP is reserved.")
    interface["networkIP"] = _taken(cloud, subnetwork, held, ip, name)
    if wanted.get("accessConfigs"):
        access = wanted["accessConfigs"][0]
        nat_ip = access.get("natIP") or None
        if nat_ip is not None and nat_ip not in cloud.addresses.holders(addresses.EXTERNAL):
            raise refusals.invalid_field(
                f"{_FIELD}.accessConfigs[0].natIP",
                nat_ip,
                f"The specified external IP address '{nat_ip}' was not found.",
            )
        external = _taken(cloud, addresses.EXTERNAL, addresses.EXTERNAL_RANGE, nat_ip, f"{name}/external")
        interface["accessConfigs"] = [
            {
                "kind": "compute#accessConfig",
                "type": "ONE_TO_ONE_NAT",
                "name": access.get("name") or "external-nat",
                "natIP": external,
                "networkTier": access.get("networkTier") or "PREMIUM",
            }
        ]


def give_back_addresses(cloud: Cloud, name: str) -> None:
    """Release an instance's addresses, internal and external."""
    addresses.give_back(cloud, name)
    addresses.give_back(cloud, f"{name}/external")


def attach_disks(instance: Json, cloud: Cloud, zone: str) -> tuple[list[Json], dict[str, Json]]:
    """(attached disks, records of disks to be made by full name) as the request's `disks` want them."""
    attached: list[Json] = []
    fresh: dict[str, Json] = {}
    for index, wanted in enumerate(instance["disks"]):
        field = f"resource.disks[{index}]"
        if wanted.get("type", "PERSISTENT") != "PERSISTENT":
            raise ApiError(501, f"Disks of type {wanted['type']} (field '{field}.type') are not emulated.")
        if wanted.get("source"):
            name, disk = _existing_disk(wanted, cloud, zone, field)
        else:
            name, disk = _fresh_disk(wanted, cloud, zone, instance["name"], index, field)
            if name in fresh:
                raise refusals.already_exists(name)
            resources.check_free(cloud, name)
            fresh[name] = disk
        entry: Json = {
            "kind": "compute#attachedDisk",
            "type": "PERSISTENT",
            "mode": wanted.get("mode") or "READ_WRITE",
            "source": name,
            "deviceName": wanted.get("deviceName") or f"persistent-disk-{index}",
            "index": index,
            "boot": bool(wanted.get("boot", False)),
            "autoDelete": bool(wanted.get("autoDelete", False)),
            "interface": wanted.get("interface") or "SCSI",
            "diskSizeGb": disk["sizeGb"],
        }
        entry |= {key: disk[key] for key in ("licenses", "architecture", "guestOsFeatures") if key in disk}
        attached.append(entry)
    return attached, fresh


def resolved_service_accounts(instance: Mapping[str, Any], cloud: Cloud) -> list[Json]:
    """Service accounts by mail, "default" resolved; ApiError 400 for one that does not exist."""
    found = []
    for account in instance.get("serviceAccounts", ()):
        email = account.get("email") or "default"
        if email == "default":
            email = iam_accounts.default_account(cloud)
        if not iam_accounts.exists(cloud, email):
            raise ApiError(
                400,
                f"The user does not have access to service account '{email}'.  User: 'rehearsal-user'.  Ask a project "
                "owner to grant you the iam.serviceAccountUser role on the service account",
                reason="serviceAccountAccessDenied",
            )
        found.append({"email": email, "scopes": list(account.get("scopes", ()))})
    return found


def _default_subnetwork(wanted: Mapping[str, Any], cloud: Cloud, region: str) -> tuple[str, Json]:
    given = wanted.get("network") or "global/networks/default"
    network = resolve(given, NETWORKS, project=cloud.project, field=f"{_FIELD}.network")
    document = resources.referenced(cloud, NETWORKS, network, given, f"{_FIELD}.network")
    if not document["autoCreateSubnetworks"]:
        raise refusals.invalid_field(_FIELD, "", "Subnetwork should be specified for custom subnetmode network")
    name = SUBNETWORKS.full_name(cloud.project, region, document["name"])
    return name, resources.existing(cloud, SUBNETWORKS, name)


def _taken(cloud: Cloud, pool: str, pool_range: str, wanted: str | None, holder: str) -> str:
    try:
        return addresses.take(cloud, pool, pool_range, wanted, holder)
    except NoRoom:
        raise ApiError(
            400,
            f"IP space of '{pool}' is exhausted. Insufficient free IP addresses in the IP range '{pool_range}'. "
            "Consider expanding the current IP range or selecting an alternative IP range.",
            reason="IP_SPACE_EXHAUSTED_WITH_DETAILS",
        ) from None
    except AddressTaken:
        raise ApiError(
            400,
            f"IP '{wanted}' is already being used by another resource.",
            reason="IP_IN_USE_BY_ANOTHER_RESOURCE",
        ) from None


def _existing_disk(wanted: Mapping[str, Any], cloud: Cloud, zone: str, field: str) -> tuple[str, Json]:
    name = resolve(wanted["source"], DISKS, project=cloud.project, place=zone, field=f"{field}.source")
    disk = resources.referenced(cloud, DISKS, name, wanted["source"], f"{field}.source")
    if last_part(disk["zone"]) != zone:
        raise refusals.invalid_field(
            f"{field}.source", wanted["source"], "The disk must be in the zone of the instance."
        )
    users = disks.users_of(cloud, name)
    if users and (wanted.get("mode") or "READ_WRITE") == "READ_WRITE":
        raise refusals.in_use("disk", name, users[0])
    return name, disk


def _fresh_disk(
    wanted: Mapping[str, Any], cloud: Cloud, zone: str, instance: str, index: int, field: str
) -> tuple[str, Json]:
    params = wanted.get("initializeParams", {})
    if wanted.get("boot") and not params.get("sourceImage"):
        raise refusals.invalid_field(
            f"{field}.initializeParams.sourceImage", "", "A boot disk needs an image or a source disk."
        )
    short = params.get("diskName") or (instance if index == 0 else f"{instance}-{index}")
    described = {
        "name": check_name(short, f"{field}.initializeParams.diskName"),
        "sourceImage": params.get("sourceImage"),
        "sizeGb": params.get("diskSizeGb") or wanted.get("diskSizeGb"),
        "type": params.get("diskType"),
        "labels": params.get("labels", {}),
        "description": params.get("description", ""),
    }
    record = disks.new_disk(described, cloud.project, zone, f"{field}.initializeParams")
    return DISKS.full_name(cloud.project, zone, short), record
