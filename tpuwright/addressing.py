"""The addresses of a stack: one private range, and a subnet of it for each region.

A region's place in the range is fixed by a table, so that a pod in a new region never moves the subnets of the
others (a subnet in use cannot be moved: Google would have to delete every pod in it first).
"""

from __future__ import annotations

from ipaddress import IPv4Network, ip_network

RESERVED_PER_SUBNET = 4
"""Google keeps the first two and the last two addresses (https://cloud.google.com/vpc/docs/subnets)."""

# Order is part of every stack that exists: append only. Regions with TPUs (docs:regions), then their neighbours.
_PLACES = (
    "us-central1",
    "us-central2",
    "us-east1",
    "us-east4",
    "us-east5",
    "us-south1",
    "us-west1",
    "us-west4",
    "europe-west1",
    "europe-west4",
    "asia-east1",
    "asia-northeast1",
    "asia-southeast1",
)
_PLACES_BITS = 4  # sixteen subnets; the three that no region owns are for regions not in the table

_PRIVATE = tuple(IPv4Network(block) for block in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))
_DOCKER_BRIDGE = IPv4Network("172.17.0.0/16")
_SMALLEST_SUBNET_PREFIX = 29  # https://cloud.google.com/vpc/docs/subnets: a primary range is at least a /29
_LARGEST_PREFIX = 8


def range_problem(text: str) -> str | None:
    """None for a range that a stack can use, else the end of a sentence that begins with the range."""
    try:
        network = IPv4Network(text, strict=False)
    except ValueError:
        return "is not a range of IPv4 addresses: write one such as '10.200.0.0/16'"
    if str(network) != text:
        return f"is not the beginning of a range: write '{network}'"
    if not any(network.subnet_of(block) for block in _PRIVATE):
        return (
            "is not private, so hosts could not reach what really lives there: "
            "take a part of 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16, such as '10.200.0.0/16'"
        )
    if network.overlaps(_DOCKER_BRIDGE):
        return (
            f"overlaps {_DOCKER_BRIDGE}, which Docker uses inside every TPU VM, so hosts would not find each other: "
            "take another, such as '10.200.0.0/16'"
        )
    if network.prefixlen + _PLACES_BITS > _SMALLEST_SUBNET_PREFIX:
        widest = _SMALLEST_SUBNET_PREFIX - _PLACES_BITS
        return (
            f"is too small to give each region a subnet of its own: write /{widest} or wider, such as '10.200.0.0/16'"
        )
    return None


def place_regions(regions: list[str]) -> dict[str, int]:
    """The place of each region's subnet in the range, 0 to 15.

    Regions of the table have their own; others share what is left, in alphabetical order.
    Raises ValueError where there are more unknown regions than free places.
    """
    unknown = sorted({region for region in regions if region not in _PLACES})
    free = range(len(_PLACES), 1 << _PLACES_BITS)
    if len(unknown) > len(free):
        raise ValueError(
            f"{len(unknown)} of the regions ({', '.join(unknown)}) are new to this version of tpuwright, which can "
            f"place {len(free)} of them: spread the pods over several stacks"
        )
    return {region: _PLACES.index(region) if region in _PLACES else free[unknown.index(region)] for region in regions}


def subnet_of(ip_cidr_range: str, place: int) -> IPv4Network:
    """The subnet at that place; ``ip_cidr_range`` is one that ``range_problem`` has nothing against."""
    whole = IPv4Network(ip_cidr_range)
    size = whole.num_addresses >> _PLACES_BITS
    return IPv4Network((int(whole.network_address) + place * size, whole.prefixlen + _PLACES_BITS))


def usable_addresses(network: IPv4Network) -> int:
    """How many machines fit into a subnet."""
    return network.num_addresses - RESERVED_PER_SUBNET


def prefix_for(machines: int) -> int:
    """The prefix that the whole range needs so that a region's subnet holds that many machines."""
    needed = machines + RESERVED_PER_SUBNET
    return max(_LARGEST_PREFIX, 32 - (needed - 1).bit_length() - _PLACES_BITS)


def opening_problem(text: str) -> str | None:
    """None for a source range that ssh may be opened to, else the end of a sentence beginning with the range."""
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        return "is not a range of addresses: write your own, such as '203.0.113.7/32'"
    narrowest = 16 if network.version == 4 else 32
    if network.prefixlen == 0:
        return (
            "would open ssh to the whole internet, which tpuwright never does: "
            "name the addresses that you come from, such as '203.0.113.7/32', or use mode: bastion"
        )
    if network.prefixlen < narrowest:
        return (
            f"would open ssh to {network.num_addresses:,} addresses: name the ones that you come from, "
            f"/{narrowest} or narrower, or use mode: bastion"
        )
    if str(network) != text:
        return f"is not the beginning of a range: write '{network}'"
    return None
