"""The accelerator types of the Cloud TPU API: one table, read by everything that depends on a type.

The table predicts. After a node was created the truth is its ``networkEndpoints``, and whether a zone
offers a type is known by the API's ``acceleratorTypes.list``; zones listed here serve only to warn and to
suggest.

Sources, by the short names used in ``Generation.sources``:

- ``docs:vX``: https://cloud.google.com/tpu/docs/{v2,v3,v4,v5e,v5p,v6e} (configurations, HBM, hosts)
- ``docs:regions``: https://cloud.google.com/tpu/docs/regions-zones
- ``docs:runtimes``: https://cloud.google.com/tpu/docs/runtimes
- ``jax:hardware_utils``: jax/_src/hardware_utils.py (PCI vendor and device ids; v2 and v3 share one)
- ``xpk``: AI-Hypercomputer/xpk, system_characteristics.py (the shapes of every v5p and v4 size)
- ``skypilot``: SkyPilot's catalogue fetcher (the v4 sizes that the API lists)
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from functools import cache
from math import prod
from typing import Literal

PCI_VENDOR_ID = "0x1ae0"
"""Google's PCI vendor id, by which JAX recognises a TPU (jax:hardware_utils)."""

DeviceNodes = Literal["accel", "vfio"]


@dataclass(frozen=True)
class Generation:
    """What all types of one generation share.

    Shapes and units: ``sizes`` are the numbers in the types' names (cores for v2, v3, v4 and v5p, chips for
    v5e and v6e); ``hbm_gb`` is per chip; ``dimensions`` is 2 (a mesh AxB) or 3 (a mesh or torus AxBxC).
    """

    name: str
    prefix: str
    sizes: tuple[int, ...] = field(repr=False)
    counted_in: Literal["cores", "chips"]
    dimensions: Literal[2, 3]
    hbm_gb: int
    jax_devices_per_chip: int
    pci_device_id: str
    device_nodes: DeviceNodes
    runtime_version: str
    zones: tuple[str, ...]
    sources: tuple[str, ...]

    def chips_of(self, size: int) -> int:
        """Chips of the type whose name ends in ``size``: generations that count cores have two a chip."""
        return size // 2 if self.counted_in == "cores" else size


@dataclass(frozen=True)
class Accelerator:
    """One accelerator type, by the API's name; ``hosts * chips_per_host == chips`` always holds."""

    name: str
    generation: Generation
    chips: int
    hosts: int
    chips_per_host: int
    topology: str

    @property
    def devices(self) -> int:
        """What ``jax.device_count()`` says on a healthy slice."""
        return self.chips * self.generation.jax_devices_per_chip

    @property
    def hbm_gb(self) -> int:
        """HBM of the whole slice, in GB."""
        return self.chips * self.generation.hbm_gb

    @property
    def runtime_version(self) -> str:
        return self.generation.runtime_version

    @property
    def summary(self) -> str:
        """For messages: ``v5p-16 (2 hosts, 8 chips)``."""
        return f"{self.name} ({_count(self.hosts, 'host')}, {_count(self.chips, 'chip')})"


class UnknownAcceleratorError(ValueError):
    """The name is no accelerator type of the TPU API; the text says which is nearest, or meant."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(f"'{name}' {reason}")


_ONE_HOST_EACH = {1: 1, 4: 4, 8: 8}  # v5e and v6e: up to 8 chips come on one host, larger slices as 4 a host
_LARGEST_SIDE = 256  # no published shape has a longer side: 67 cubes of 4x4x4 would need 4x4x268, and is not offered


def _cubes_up_to(cubes: int) -> tuple[int, ...]:
    """Core counts of v4 and v5p: parts of a cube, then whole 4x4x4 cubes (64 chips) that have a shape."""
    whole = [count * 128 for count in range(1, cubes + 1) if max(_shape_3d(count * 64)) <= _LARGEST_SIDE]
    return (8, 16, 32, 64, *whole)


def _shape_2d(chips: int) -> tuple[int, ...]:
    """The squarest AxB with A <= B; sizes are powers of two."""
    short = 1 << ((chips.bit_length() - 1) // 2)
    return short, chips // short


def _shape_3d(chips: int) -> tuple[int, ...]:
    """AxBxC, A <= B <= C, the most cube-like; from 64 chips on sides are multiples of 4 (docs:v4, xpk)."""
    if chips < 64:
        return {4: (2, 2, 1), 8: (2, 2, 2), 16: (2, 2, 4), 32: (2, 4, 4)}[chips]
    cubes = chips // 64
    shapes = [
        (4 * a, 4 * b, 4 * (cubes // a // b))
        for a in range(1, cubes + 1)
        if cubes % a == 0
        for b in range(a, cubes // a + 1)
        if cubes // a % b == 0 and cubes // a // b >= b
    ]
    return min(shapes, key=sum)


GENERATIONS: tuple[Generation, ...] = (
    Generation(
        name="v2",
        prefix="v2",
        sizes=(8, 32, 128, 256, 512),
        counted_in="cores",
        dimensions=2,
        hbm_gb=16,
        jax_devices_per_chip=2,
        pci_device_id="0x0027",
        device_nodes="accel",
        runtime_version="tpu-ubuntu2204-base",
        zones=("us-central1-a", "us-central1-b", "us-central1-c", "europe-west4-a", "asia-east1-c"),
        sources=("docs:v2", "docs:regions", "docs:runtimes", "jax:hardware_utils"),
    ),
    Generation(
        name="v3",
        prefix="v3",
        sizes=(8, 32, 64, 128, 256, 512, 1024, 2048),
        counted_in="cores",
        dimensions=2,
        hbm_gb=32,
        jax_devices_per_chip=2,
        pci_device_id="0x0027",
        device_nodes="accel",
        runtime_version="tpu-ubuntu2204-base",
        zones=("us-central1-a", "us-central1-b", "europe-west4-a"),
        sources=("docs:v3", "docs:regions", "docs:runtimes", "jax:hardware_utils"),
    ),
    Generation(
        name="v4",
        prefix="v4",
        sizes=_cubes_up_to(32),
        counted_in="cores",
        dimensions=3,
        hbm_gb=32,
        jax_devices_per_chip=1,
        pci_device_id="0x005e",
        device_nodes="accel",
        runtime_version="tpu-ubuntu2204-base",
        zones=("us-central2-b",),
        sources=("docs:v4", "docs:regions", "docs:runtimes", "jax:hardware_utils", "xpk", "skypilot"),
    ),
    Generation(
        name="v5e",
        prefix="v5litepod",
        sizes=(1, 4, 8, 16, 32, 64, 128, 256),
        counted_in="chips",
        dimensions=2,
        hbm_gb=16,
        jax_devices_per_chip=1,
        pci_device_id="0x0063",
        device_nodes="vfio",
        runtime_version="v2-alpha-tpuv5-lite",
        zones=("us-central1-a", "us-south1-a", "us-west1-c", "us-west4-a", "europe-west4-b"),
        sources=("docs:v5e", "docs:regions", "docs:runtimes", "jax:hardware_utils"),
    ),
    Generation(
        name="v5p",
        prefix="v5p",
        sizes=_cubes_up_to(96),
        counted_in="cores",
        dimensions=3,
        hbm_gb=95,
        jax_devices_per_chip=1,
        pci_device_id="0x0062",
        device_nodes="vfio",
        runtime_version="v2-alpha-tpuv5",
        zones=("us-central1-a", "us-east5-a", "europe-west4-b"),
        sources=("docs:v5p", "docs:regions", "docs:runtimes", "jax:hardware_utils", "xpk"),
    ),
    Generation(
        name="v6e",
        prefix="v6e",
        sizes=(1, 4, 8, 16, 32, 64, 128, 256),
        counted_in="chips",
        dimensions=2,
        hbm_gb=32,
        jax_devices_per_chip=1,
        pci_device_id="0x006f",
        device_nodes="vfio",
        runtime_version="v2-alpha-tpuv6e",
        zones=(
            "us-central1-b",
            "us-east1-d",
            "us-east5-a",
            "us-east5-b",
            "europe-west4-a",
            "asia-northeast1-b",
        ),
        sources=("docs:v6e", "docs:regions", "docs:runtimes", "jax:hardware_utils"),
    ),
)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _accelerator(generation: Generation, size: int) -> Accelerator:
    chips = generation.chips_of(size)
    single = _ONE_HOST_EACH if generation.counted_in == "chips" else {}
    chips_per_host = single.get(chips, 4)
    shape = _shape_2d(chips) if generation.dimensions == 2 else _shape_3d(chips)
    if prod(shape) != chips or chips % chips_per_host:
        raise AssertionError(f"the table gives {generation.prefix}-{size} the shape {shape} for {chips} chips")
    return Accelerator(
        name=f"{generation.prefix}-{size}",
        generation=generation,
        chips=chips,
        hosts=chips // chips_per_host,
        chips_per_host=chips_per_host,
        topology="x".join(map(str, shape)),
    )


@cache
def table() -> dict[str, Accelerator]:
    """Every type by its API name, in order of generation and size."""
    return {
        accelerator.name: accelerator
        for generation in GENERATIONS
        for accelerator in (_accelerator(generation, size) for size in generation.sizes)
    }


def lookup(name: str) -> Accelerator:
    """The type of that exact API name.

    Raises UnknownAcceleratorError, whose text names the type meant (an alias), or the nearest ones.
    """
    if name in table():
        return table()[name]
    raise UnknownAcceleratorError(name, _why_unknown(name))


def nearest(name: str) -> tuple[Accelerator, ...]:
    """Up to three types that somebody who wrote ``name`` may have meant, most likely first.

    In a known generation the sizes just below and above; else the names that are spelt most alike.
    """
    generation, size = _parse(name)
    if generation and size is not None:
        below = [candidate for candidate in generation.sizes if candidate <= size][-1:]
        above = [candidate for candidate in generation.sizes if candidate > size][:1]
        return tuple(table()[f"{generation.prefix}-{candidate}"] for candidate in below + above)
    if generation:
        return tuple(table()[f"{generation.prefix}-{candidate}"] for candidate in generation.sizes[:3])
    alike = difflib.get_close_matches(name.strip().lower(), table(), n=3, cutoff=0.6)
    return tuple(table()[match] for match in alike)


def meant(name: str) -> Accelerator | None:
    """The type that an alias stands for (``v5e-16``: ``v5litepod-16``); None where there is no such size."""
    generation, size = _parse(name)
    return table().get(f"{generation.prefix}-{size}") if generation and size is not None else None


_TPU7X = re.compile(r"^(tpu[-_]?)?(v?7x?|ironwood)([-_ ]?\d+)?$")
_SPELLING = re.compile(
    r"^(?:google[-_ ])?(?:cloud[-_ ])?(?:tpu[-_ ]?)?"
    r"(?P<generation>v2|v3|v4|v5[-_ ]?lite[-_ ]?pod|v5[-_ ]?lite|v5e|v5[-_ ]?p|v6[-_ ]?e|v6|trillium)"
    r"(?:[-_ ]?(?:slice|pod|podslice))?(?:[-_ ]*(?P<size>\d+))?$"
)
_SPELT = {"v5lite": "v5e", "v5litepod": "v5e", "v6": "v6e", "trillium": "v6e"}


def _parse(name: str) -> tuple[Generation | None, int | None]:
    match = _SPELLING.match(name.strip().lower())
    if not match:
        return None, None
    spelt = re.sub("[-_ ]", "", match["generation"])
    generation = next(g for g in GENERATIONS if g.name == _SPELT.get(spelt, spelt))
    return generation, int(match["size"]) if match["size"] else None


def _why_unknown(name: str) -> str:
    if _TPU7X.match(name.strip().lower()):
        return (
            "is a TPU7x (Ironwood), served by Compute Engine and not by the Cloud TPU API; "
            "tpuwright does not speak that yet: take a v6e or v5p type"
        )
    alias = meant(name)
    if alias:
        return f"is not a name that the Cloud TPU API knows; it means {alias.summary}: write that"
    known = nearest(name)
    if known:
        return "does not exist; nearest: " + ", ".join(accelerator.summary for accelerator in known)
    return "does not exist; the types are called " + ", ".join(
        f"{generation.prefix}-{generation.sizes[0]} … -{generation.sizes[-1]}" for generation in GENERATIONS
    )
