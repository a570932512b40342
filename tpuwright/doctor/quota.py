"""TPU quota: Service Usage's limits, and which of them a pod counts against.

Quotas are named by generation and tier: TPUV5sLitepodPerProjectPerZoneForTPUAPI, TPUV5PPreemptiblePerProject….
Source: error messages of the TPU API and the consoles of projects that are quoted in public trackers. v5e and v6e
count chips, the older ones and v5p count cores (two a chip), as their accelerator types do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tpuwright.settings.pod import PodSettings

_MARKS: Final[dict[str, tuple[str, ...]]] = {
    "v2": ("tpuv2",),
    "v3": ("tpuv3",),
    "v4": ("tpuv4",),
    "v5e": ("tpuv5slitepod", "tpuv5slite", "tpuv5preemptiblelitepod", "tpuv5spreemptiblelitepod", "tpuv5litepod"),
    "v5p": ("tpuv5p",),
    "v6e": ("tpuv6e",),
}
_UNLIMITED: Final = -1


@dataclass(frozen=True)
class Limit:
    """One limit of a project: how many in which place (a zone, a region, or everywhere: "")."""

    name: str
    place: str
    amount: int

    @property
    def words(self) -> str:
        """The name with nothing but its letters and digits, small: what the marks of a generation are looked for in."""
        return re.sub(r"[^a-z0-9]", "", self.name.lower())

    @property
    def preemptible(self) -> bool:
        """Whether it limits spot capacity."""
        return "preemptible" in self.words


def limits_of(metrics: Iterable[Mapping[str, Any]]) -> list[Limit]:
    """The limits in the answer of services.consumerQuotaMetrics.list (v1beta1), one for each place."""
    found = []
    for metric in metrics:
        name = f"{metric.get('metric', '')} {metric.get('displayName', '')}"
        for limit in metric.get("consumerQuotaLimits", []):
            for bucket in limit.get("quotaBuckets", []):
                dimensions = bucket.get("dimensions") or {}
                place = str(dimensions.get("zone") or dimensions.get("region") or "")
                found.append(Limit(name, place, int(bucket.get("effectiveLimit", 0))))
    return found


def shortage(pod: PodSettings, limits: Iterable[Limit]) -> str | None:
    """Why `pod` will not fit into its quota in any of its zones, or why that cannot be told; None where it fits."""
    generation = pod.accelerator.generation.name
    marks = _MARKS.get(generation, ())
    spot = pod.provisioning_model == "spot"
    ours = [
        limit
        for limit in limits
        if any(mark in limit.words for mark in marks) and limit.preemptible == spot and "serving" not in limit.words
    ]
    tier = "spot" if spot else "on-demand"
    if not ours:
        return f"no {tier} quota for {generation} is among the project's limits (pod {pod.name})"
    needed = int(pod.accelerator_type.rpartition("-")[2])
    allowed = {zone: _in_zone(ours, zone) for zone in pod.zones}
    if any(amount == _UNLIMITED or amount >= needed for amount in allowed.values()):
        return None
    places = ", ".join(f"{amount} in {zone}" for zone, amount in allowed.items())
    return f"pod {pod.name} needs {needed} of the {tier} quota for {generation}, and the limit is {places}"


def _in_zone(limits: list[Limit], zone: str) -> int:
    """The tightest of the limits that hold in a zone: one that names it (or its region) replaces the general one."""
    region = zone.rpartition("-")[0]
    by_name: dict[str, dict[str, int]] = {}
    for limit in limits:
        by_name.setdefault(limit.name, {})[limit.place] = limit.amount
    amounts = []
    for places in by_name.values():
        applying = next((places[place] for place in (zone, region, "") if place in places), None)
        if applying is not None and applying != _UNLIMITED:
            amounts.append(applying)
    return min(amounts, default=0 if not by_name else _UNLIMITED)
