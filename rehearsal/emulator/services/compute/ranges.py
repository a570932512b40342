"""What Google allows as a subnetwork's range.

Source: https://cloud.google.com/vpc/docs/subnets ("Valid IPv4 ranges", "Prohibited IPv4 subnet ranges",
"Limitations for IPv4 subnet ranges", "Unusable addresses in IPv4 subnet ranges").
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import AddressValueError, IPv4Address, IPv4Network, NetmaskValueError

from rehearsal.emulator.services.compute.refusals import invalid_field, required

SMALLEST_PREFIX = 29
"""A subnetwork has at least 8 addresses, of which Google takes four."""
LARGEST_PREFIX = 4
AUTO_MODE_RANGE = IPv4Network("10.128.0.0/9")

_PROHIBITED = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "199.36.153.4/30",
        "199.36.153.8/30",
        "224.0.0.0/4",
        "255.255.255.255/32",
    )
)


def parse_cidr(value: object, field: str) -> IPv4Network:
    """The range; ApiError 400 when it is none, or has bits set to the right of its mask."""
    if value is None or value == "":
        raise required(field)
    if isinstance(value, str) and value.count("/") == 1 and value.split("/")[1].isdecimal():
        try:
            return IPv4Network(value)
        except (AddressValueError, NetmaskValueError, ValueError):
            pass
    raise invalid_field(field, value, "Must be a valid IPV4 CIDR address range.")


def check_subnetwork_range(value: object, field: str = "resource.ipCidrRange") -> IPv4Network:
    """The range of a subnetwork to be; ApiError 400 when it is malformed, too small, too large or reserved."""
    network = parse_cidr(value, field)
    if network.prefixlen > SMALLEST_PREFIX:
        raise invalid_field(
            field, value, f"Invalid IPCidrRange: {value} is too small, the longest prefix is /{SMALLEST_PREFIX}."
        )
    for reserved in _PROHIBITED:
        if network.overlaps(reserved):
            raise invalid_field(
                field, value, f"Invalid IPCidrRange: {value} conflicts with reserved IP range {reserved}."
            )
    if network.prefixlen < LARGEST_PREFIX:
        raise invalid_field(
            field, value, f"Invalid IPCidrRange: {value} is too large, the shortest prefix is /{LARGEST_PREFIX}."
        )
    return network


def check_no_overlap(
    network: IPv4Network, others: Iterable[tuple[str, str, IPv4Network]], field: str = "resource.ipCidrRange"
) -> None:
    """ApiError 400 when the range overlaps one of `others`: (subnetwork, region, range) of the same VPC."""
    for name, region, other in others:
        if network.overlaps(other):
            raise invalid_field(
                field,
                network,
                f"Invalid IPCidrRange: {network} conflicts with existing subnetwork '{name}' in region '{region}'.",
            )


def check_expansion(old: IPv4Network, new: IPv4Network, field: str = "ipCidrRange") -> None:
    """A range only grows: ApiError 400 unless `new` is `old` or contains it."""
    if not old.subnet_of(new):
        raise invalid_field(
            field, new, f"The new IP range must be a superset of the existing IP range {old}: it can only grow."
        )


def gateway_of(network: IPv4Network) -> IPv4Address:
    """Google's gateway is the second address of the range."""
    return network[1]
