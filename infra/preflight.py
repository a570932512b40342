"""What the TPU API says before anything is made: which types and images a zone offers, which nodes are there."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pulumi

from stack_settings import StackSettings
from tpuwright.accelerators import GENERATIONS
from tpuwright.cloud.errors import CloudError, Kind
from tpuwright.cloud.tpu import Node, TpuApi

# Without an answer the plan is still good, only unchecked; every other error would also end the creation.
_NO_ANSWER: frozenset[Kind] = frozenset(
    {"credentials_missing", "credentials_expired", "network", "tls", "rate", "unavailable", "other"}
)


@dataclass(frozen=True)
class ZoneSurvey:
    """One zone as the API has it now; ``nodes`` by their short names."""

    accelerator_types: frozenset[str]
    runtime_versions: frozenset[str]
    nodes: Mapping[str, Node]


def survey(stack: StackSettings) -> dict[str, ZoneSurvey] | None:
    """Ask about every zone that a pod may be in, all at once.

    None, after one warning, where the API gives no answer. Raises pulumi.RunError with one sentence where it
    answers that nothing can be made (permission denied, API disabled, no such zone).
    """
    zones = sorted({zone for pod in stack.settings.pods for zone in pod.zones})
    try:
        with ThreadPoolExecutor(max_workers=8) as workers:
            return dict(zip(zones, workers.map(lambda zone: _ask(stack, zone), zones), strict=True))
    except CloudError as error:
        if error.kind in _NO_ANSWER:
            pulumi.log.warn(
                "The TPU API could not be asked which types the zones offer and which nodes there are, so the plan is "
                f"unchecked and a lost pod is not noticed. {error.sentence}"
            )
            return None
        raise pulumi.RunError(error.sentence) from error


def _ask(stack: StackSettings, zone: str) -> ZoneSurvey:
    gcp = stack.settings.gcp
    # A client of its own for each thread: Google's HTTP layer is not made for several.
    api = TpuApi(gcp.project, gcp.tpuV2CustomEndpoint)
    try:
        return ZoneSurvey(
            accelerator_types=frozenset(api.accelerator_types(zone)),
            runtime_versions=frozenset(api.runtime_versions(zone)),
            nodes={node.name: node for node in api.nodes(zone)},
        )
    except CloudError as error:
        if error.kind == "not_found":
            raise pulumi.RunError(_no_such_zone(stack, zone)) from error
        raise


def _no_such_zone(stack: StackSettings, zone: str) -> str:
    paths = [
        f"pods[{index}].zones[{pod.zones.index(zone)}]"
        for index, pod in enumerate(stack.settings.pods)
        if zone in pod.zones
    ]
    known = sorted({known for generation in GENERATIONS for known in generation.zones})
    return f"{paths[0]} '{zone}' is not a zone with TPUs in this project: take one of {', '.join(known)}"
