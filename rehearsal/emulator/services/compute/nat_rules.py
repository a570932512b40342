"""What a Cloud NAT may say, what Google fills in, and which subnetworks it serves.

Sources: the `RouterNat` schema of Compute's discovery document, https://cloud.google.com/nat/docs, and the
refusals quoted in google/osv.dev#5629, forseti-security/terraform-google-forseti#203 and
terraform-google-modules/terraform-google-cloud-router#8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rehearsal.emulator.errors import ApiError
from rehearsal.emulator.services.compute.naming import check_name
from rehearsal.emulator.services.compute.references import SUBNETWORKS, resolve
from rehearsal.emulator.services.compute.refusals import invalid_field, required

EVERY_RANGE = "ALL_SUBNETWORKS_ALL_IP_RANGES"
EVERY_PRIMARY_RANGE = "ALL_SUBNETWORKS_ALL_PRIMARY_IP_RANGES"
LISTED = "LIST_OF_SUBNETWORKS"

_DEFAULTS: dict[str, Any] = {
    "type": "PUBLIC",
    "natIpAllocateOption": "AUTO_ONLY",
    "icmpIdleTimeoutSec": 30,
    "tcpEstablishedIdleTimeoutSec": 1200,
    "tcpTimeWaitTimeoutSec": 120,
    "tcpTransitoryIdleTimeoutSec": 30,
    "udpIdleTimeoutSec": 30,
    "enableEndpointIndependentMapping": False,
    "endpointTypes": ["ENDPOINT_TYPE_VM"],
    "autoNetworkTier": "PREMIUM",
}


def complete_all(nats: Sequence[Mapping[str, Any]], project: str, region: str) -> list[dict[str, Any]]:
    """The NATs of one router with Google's defaults; ApiError 400 when one is malformed or two clash.

    Subnetworks come back as full names (key `name` of each entry). Private NAT answers 501.
    """
    done: list[dict[str, Any]] = []
    for index, nat in enumerate(nats):
        field = f"resource.nats[{index}]"
        one = _complete(nat, field, project, region)
        if any(other["name"] == one["name"] for other in done):
            raise invalid_field(f"{field}.name", one["name"], "The name is already used by another NAT of this router.")
        done.append(one)
    return done


def check_no_clash(nats: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]]) -> None:
    """ApiError 400 when one of `nats` serves what another of them, or of `others`, serves already.

    `others` are the NATs of the other routers of the same network and region.
    """
    before = list(others)
    for index, nat in enumerate(nats):
        field = f"resource.nats[{index}]"
        for other in before:
            everything = {nat["sourceSubnetworkIpRangesToNat"], other["sourceSubnetworkIpRangesToNat"]} - {LISTED}
            if everything:
                raise invalid_field(
                    f"{field}.sourceSubnetworkIpRangesToNat",
                    nat["sourceSubnetworkIpRangesToNat"],
                    f"Can not create new Nats since a Nat with option {min(everything)} exists.",
                )
            if _listed(nat) & _listed(other):
                raise invalid_field(
                    f"{field}.subnetworks[0].sourceIpRangesToNat",
                    "",
                    "The subnetwork is already configured with ALL_IP_RANGES for Nat which conflicts with the "
                    "specified IpRangeToNatOption options in this Nat.",
                )
        before.append(nat)


def serves(nat: Mapping[str, Any], subnetwork: str) -> bool:
    """Whether the NAT translates for that subnetwork (full name), given it is of its network and region."""
    return nat["sourceSubnetworkIpRangesToNat"] != LISTED or subnetwork in _listed(nat)


def _listed(nat: Mapping[str, Any]) -> set[str]:
    return {entry["name"] for entry in nat.get("subnetworks", ())}


def _complete(nat: Mapping[str, Any], field: str, project: str, region: str) -> dict[str, Any]:
    one = {**_DEFAULTS, **{key: value for key, value in nat.items() if value not in ([], None)}}
    check_name(one.get("name"), f"{field}.name")
    if one["type"] != "PUBLIC":
        raise ApiError(501, f"NAT of type {one['type']} (field '{field}.type') is not emulated: use PUBLIC.")
    source = one.get("sourceSubnetworkIpRangesToNat")
    if source is None:
        raise required(f"{field}.sourceSubnetworkIpRangesToNat")
    if source != LISTED and one.get("subnetworks"):
        raise invalid_field(
            f"{field}.subnetworks", "", f"Subnetworks can only be given with sourceSubnetworkIpRangesToNat {LISTED}."
        )
    if source == LISTED and not one.get("subnetworks"):
        raise invalid_field(f"{field}.subnetworks", "", f"Subnetworks must be given with {LISTED}.")
    if one["natIpAllocateOption"] == "MANUAL_ONLY" and not one.get("natIps"):
        raise invalid_field(f"{field}.natIps", "", "NAT addresses must be given with MANUAL_ONLY.")
    if one["natIpAllocateOption"] == "AUTO_ONLY" and one.get("natIps"):
        raise invalid_field(f"{field}.natIps", one["natIps"][0], "NAT addresses cannot be given with AUTO_ONLY.")
    if one.get("subnetworks"):
        one["subnetworks"] = [
            _complete_subnetwork(entry, f"{field}.subnetworks[{index}]", project, region)
            for index, entry in enumerate(one["subnetworks"])
        ]
    return one


def _complete_subnetwork(entry: Mapping[str, Any], field: str, project: str, region: str) -> dict[str, Any]:
    if not entry.get("name"):
        raise required(f"{field}.name")
    ranges = list(entry.get("sourceIpRangesToNat") or [])
    if not ranges:
        raise required(f"{field}.sourceIpRangesToNat")
    if entry.get("secondaryIpRangeNames") and "LIST_OF_SECONDARY_IP_RANGES" not in ranges:
        raise invalid_field(
            f"{field}.secondaryIpRangeNames",
            "",
            "No secondary IP ranges should be provided if the subnetwork is not configured with "
            "LIST_OF_SECONDARY_IP_RANGES.",
        )
    full_name = resolve(entry["name"], SUBNETWORKS, project=project, place=region, field=f"{field}.name")
    done: dict[str, Any] = {"name": full_name, "sourceIpRangesToNat": ranges}
    if entry.get("secondaryIpRangeNames"):
        done["secondaryIpRangeNames"] = list(entry["secondaryIpRangeNames"])
    return done
