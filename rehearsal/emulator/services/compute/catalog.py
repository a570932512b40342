"""What Compute Engine offers: regions, zones, machine types, disk types and image families.

Zones: https://cloud.google.com/compute/docs/regions-zones (2026-10), with the TPU zones of Cloud TPU's own
list. Machine types: https://cloud.google.com/compute/docs/general-purpose-machines (E2, N1, N2) and
https://cloud.google.com/tpu/docs/ct-machine-types. Image sizes: the images of debian-cloud and
ubuntu-os-cloud.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network

_ZONE_LETTERS: dict[str, str] = {
    "africa-south1": "abc",
    "asia-east1": "abc",
    "asia-east2": "abc",
    "asia-northeast1": "abc",
    "asia-northeast2": "abc",
    "asia-northeast3": "abc",
    "asia-south1": "abc",
    "asia-south2": "abc",
    "asia-southeast1": "abc",
    "asia-southeast2": "abc",
    "australia-southeast1": "abc",
    "australia-southeast2": "abc",
    "europe-central2": "abc",
    "europe-north1": "abc",
    "europe-north2": "abc",
    "europe-southwest1": "abc",
    "europe-west1": "bcd",
    "europe-west10": "abc",
    "europe-west12": "abc",
    "europe-west2": "abc",
    "europe-west3": "abc",
    "europe-west4": "abc",
    "europe-west6": "abc",
    "europe-west8": "abc",
    "europe-west9": "abc",
    "me-central1": "abc",
    "me-central2": "abc",
    "me-west1": "abc",
    "northamerica-northeast1": "abc",
    "northamerica-northeast2": "abc",
    "northamerica-south1": "abc",
    "southamerica-east1": "abc",
    "southamerica-west1": "abc",
    "us-central1": "abcf",
    "us-central2": "b",
    "us-east1": "bcd",
    "us-east4": "abc",
    "us-east5": "abc",
    "us-south1": "abc",
    "us-west1": "abc",
    "us-west2": "abc",
    "us-west3": "abc",
    "us-west4": "abc",
}
_MORE_ZONES = {"us-central1": ("us-central1-ai1a",)}

ZONES: dict[str, tuple[str, ...]] = {
    region: tuple(f"{region}-{letter}" for letter in letters) + _MORE_ZONES.get(region, ())
    for region, letters in _ZONE_LETTERS.items()
}
"""Zones by region."""

REGION_OF_ZONE: dict[str, str] = {zone: region for region, zones in ZONES.items() for zone in zones}


@dataclass(frozen=True)
class MachineType:
    """A machine type; memory in MB. `shared` for the E2 types that share a core; `chips` TPU chips."""

    name: str
    cpus: int
    memory_mb: int
    shared: bool = False
    chips: int = 0


@dataclass(frozen=True)
class DiskType:
    """A persistent disk type; sizes in GB."""

    name: str
    description: str
    default_gb: int
    valid_sizes: str
    smallest_gb: int
    largest_gb: int


@dataclass(frozen=True)
class Image:
    """A public image: what its family serves now; `size_gb` is the smallest boot disk that holds it."""

    project: str
    family: str
    name: str
    description: str
    size_gb: int
    architecture: str = "X86_64"


def _machine_types() -> Iterator[MachineType]:
    yield MachineType("e2-micro", 2, 1024, shared=True)
    yield MachineType("e2-small", 2, 2048, shared=True)
    yield MachineType("e2-medium", 2, 4096, shared=True)
    for family, sizes in (("e2", (2, 4, 8, 16, 32)), ("n2", (2, 4, 8, 16, 32, 48, 64, 80, 96, 128))):
        for cpus in sizes:
            yield MachineType(f"{family}-standard-{cpus}", cpus, cpus * 4096)
    for cpus in (2, 4, 8, 16):
        yield MachineType(f"e2-highmem-{cpus}", cpus, cpus * 8192)
    for cpus in (1, 2, 4, 8, 16, 32, 64, 96):
        yield MachineType(f"n1-standard-{cpus}", cpus, cpus * 3840)
    yield MachineType("ct5lp-hightpu-1t", 24, 48 * 1024, chips=1)
    yield MachineType("ct5lp-hightpu-4t", 112, 192 * 1024, chips=4)
    yield MachineType("ct5lp-hightpu-8t", 224, 384 * 1024, chips=8)
    yield MachineType("ct5p-hightpu-4t", 208, 448 * 1024, chips=4)
    yield MachineType("ct6e-standard-1t", 44, 176 * 1024, chips=1)
    yield MachineType("ct6e-standard-4t", 180, 720 * 1024, chips=4)
    yield MachineType("ct6e-standard-8t", 180, 1440 * 1024, chips=8)


MACHINE_TYPES: dict[str, MachineType] = {one.name: one for one in _machine_types()}

DISK_TYPES: dict[str, DiskType] = {
    one.name: one
    for one in (
        DiskType("pd-standard", "Standard Persistent Disk", 500, "10GB-65536GB", 10, 65536),
        DiskType("pd-balanced", "Balanced Persistent Disk", 100, "10GB-65536GB", 10, 65536),
        DiskType("pd-ssd", "SSD Persistent Disk", 100, "10GB-65536GB", 10, 65536),
        DiskType("hyperdisk-balanced", "Hyperdisk Balanced Persistent Disk", 100, "4GB-65536GB", 4, 65536),
        DiskType("hyperdisk-ml", "Hyperdisk ML Persistent Disk", 100, "4GB-65536GB", 4, 65536),
    )
}

IMAGES: tuple[Image, ...] = (
    Image(
        "debian-cloud",
        "debian-12",
        "debian-12-bookworm-v20261014",
        "Debian, Debian GNU/Linux, 12 (bookworm), amd64 built on 20261014",
        10,
    ),
    Image(
        "debian-cloud",
        "debian-12-arm64",
        "debian-12-bookworm-arm64-v20261014",
        "Debian, Debian GNU/Linux, 12 (bookworm), arm64 built on 20261014",
        10,
        "ARM64",
    ),
    Image(
        "ubuntu-os-cloud",
        "ubuntu-2204-lts",
        "ubuntu-2204-jammy-v20261012",
        "Canonical, Ubuntu, 22.04 LTS, amd64 jammy image built on 2026-10-12",
        10,
    ),
    Image(
        "ubuntu-os-cloud",
        "ubuntu-2404-lts-amd64",
        "ubuntu-2404-noble-amd64-v20261012",
        "Canonical, Ubuntu, 24.04 LTS, amd64 noble image built on 2026-10-12",
        10,
    ),
)


def auto_subnetwork_ranges() -> dict[str, IPv4Network]:
    """The range of each region's subnetwork in an auto mode network: /20s of 10.128.0.0/9.

    Source: https://cloud.google.com/vpc/docs/subnets#ip-ranges for the regions named here; the others
    follow in order.
    """
    known = {
        "us-central1": 128,
        "europe-west1": 132,
        "us-west1": 138,
        "asia-east1": 140,
        "us-east1": 142,
        "asia-northeast1": 146,
        "asia-southeast1": 148,
        "us-east4": 150,
        "europe-west4": 164,
        "us-west2": 168,
        "us-west3": 180,
        "us-west4": 182,
        "us-east5": 202,
        "us-south1": 206,
    }
    free = (number for number in range(128, 256, 2) if number not in known.values())
    return {region: IPv4Network(f"10.{known.get(region) or next(free)}.0.0/20") for region in ZONES}
