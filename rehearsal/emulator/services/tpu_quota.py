"""Service Usage v1beta1: the limits on TPU chips and cores, as the emulator's settings have them."""

from __future__ import annotations

from urllib.parse import quote

from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.errors import ApiError, not_found
from rehearsal.emulator.handlers import Call, Json, operation
from rehearsal.emulator.paging import page
from tpuwright.accelerators import GENERATIONS, Generation

_TPU = "tpu.googleapis.com"
_UNLIMITED = -1
_TIERS = ("standard", "spot")


@operation(
    "serviceusage.services.consumerQuotaMetrics.list",
    differs="Only the Cloud TPU API has metrics; their names follow its quota errors; no override can be asked for.",
)
async def list_consumer_quota_metrics(call: Call, cloud: Cloud) -> Json:
    project, _, service = call.path["parent"].removeprefix("projects/").partition("/services/")
    if project not in (cloud.project, cloud.project_number):
        raise ApiError(403, f"Project '{project}' not found or permission denied.")
    if service != _TPU:
        raise not_found(f"Service '{service}' has no quota metrics here")
    return page(call, "metrics", [_metric(cloud, kind, tier) for kind in GENERATIONS for tier in _TIERS])


def _metric(cloud: Cloud, generation: Generation, tier: str) -> Json:
    lite = "s_litepod" if generation.name == "v5e" else ""
    number = generation.name.removesuffix("e") if lite else generation.name
    metric = f"{_TPU}/tpu_{number}{lite}{'_preemptible' if tier == 'spot' else ''}"
    place = "region" if tier == "spot" else "zone"
    name = f"projects/{cloud.project_number}/services/{_TPU}/consumerQuotaMetrics/{quote(metric, safe='')}"
    limit = _limit(cloud, generation, tier)
    return {
        "name": name,
        "metric": metric,
        "displayName": f"{'Preemptible ' if tier == 'spot' else ''}TPU {generation.name} {generation.counted_in}",
        "unit": "1",
        "consumerQuotaLimits": [
            {
                "name": f"{name}/limits/%2Fproject%2F{place}",
                "metric": metric,
                "unit": f"1/{{project}}/{{{place}}}",
                "quotaBuckets": [{"effectiveLimit": str(limit), "defaultLimit": str(_UNLIMITED)}],
            }
        ],
    }


def _limit(cloud: Cloud, generation: Generation, tier: str) -> int:
    """In the generation's own unit: cores for those whose types count cores, two a chip."""
    chips = [
        each.chips for each in cloud.settings.quota if each.generation == generation.name and each.tier in (tier, "any")
    ]
    per_chip = 2 if generation.counted_in == "cores" else 1
    return min(chips) * per_chip if chips else _UNLIMITED
