"""Where each pod goes and whether its node must be made anew: decided from settings and the API's answer alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from preflight import ZoneSurvey
from stack_settings import StackSettings
from tpuwright.cloud.tpu import Node
from tpuwright.naming import region_of
from tpuwright.settings import PodSettings

# A node in these states never comes back by itself, and keeps eating quota until it is deleted.
LOST_STATES = frozenset({"PREEMPTED", "TERMINATED", "DELETING"})


@dataclass(frozen=True)
class Placement:
    """One pod's place. ``fresh`` says that no node of it is alive, so that one must be made.

    ``node`` is its id in the TPU API.
    """

    pod: PodSettings
    node: str
    zone: str
    fresh: bool

    @property
    def region(self) -> str:
        return region_of(self.zone)


def place(stack: StackSettings, zones: Mapping[str, ZoneSurvey] | None) -> list[Placement]:
    """The place of every pod; ``zones`` is None where the API could not be asked.

    Raises pulumi.RunError, with every refusal, for a type or image that the zone does not offer and for a node
    that belongs to somebody else.
    """
    placements: list[Placement] = []
    refusals: list[str] = []
    for index, pod in enumerate(stack.settings.pods):
        placement = _place(pod, stack.node(pod.name), zones)
        placements.append(placement)
        if zones is not None:
            refusals += _refusals(f"pods[{index}]", placement, zones[placement.zone], stack)
    if refusals:
        numbered = [f"{number}. {refusal}" for number, refusal in enumerate(refusals, start=1)]
        raise pulumi.RunError("\n".join(["The TPU API does not have what is asked; nothing was changed:", *numbered]))
    return placements


def _place(pod: PodSettings, node_id: str, zones: Mapping[str, ZoneSurvey] | None) -> Placement:
    """A live node stays in its zone as long as the settings list that zone; else the first candidate."""
    if zones is None:
        # Nothing is known, so nothing is replaced.
        return Placement(pod, node_id, pod.zones[0], fresh=False)
    there = [(zone, node) for zone in pod.zones if (node := zones[zone].nodes.get(node_id))]
    for zone, node in there:
        if not is_lost(node, pod):
            _mention(pod, node, zone)
            return Placement(pod, node_id, zone, fresh=False)
    if there:
        zone, node = there[0]
        pulumi.log.warn(
            f"Pod {pod.name} is lost (its node {node_id} in {zone} is {node.state}): this run deletes what is left "
            "of it and makes it anew; then run site.yml again, as its hosts are new machines."
        )
    return Placement(pod, node_id, pod.zones[0], fresh=True)


def is_lost(node: Node, pod: PodSettings) -> bool:
    """Whether the node must be deleted and made again. A spot node that stopped cannot be started again."""
    return node.state in LOST_STATES or (pod.provisioning_model == "spot" and node.state in {"STOPPED", "STOPPING"})


def _mention(pod: PodSettings, node: Node, zone: str) -> None:
    if node.state in {"STOPPED", "STOPPING"}:
        pulumi.log.warn(
            f"Pod {pod.name} is stopped and stays so: start it with "
            f"'gcloud compute tpus tpu-vm start {node.name} --zone {zone}'."
        )
    elif node.state == "REPAIRING":
        pulumi.log.warn(
            f"Google is repairing pod {pod.name} ({node.health_description or 'no reason given'}): wait until it is "
            "READY, or make it anew with 'pulumi up --replace'."
        )


def _refusals(path: str, placement: Placement, zone: ZoneSurvey, stack: StackSettings) -> list[str]:
    pod = placement.pod
    node = zone.nodes.get(placement.node)
    owner = node.labels.get("tpuwright-stack") if node else None
    if owner is not None and owner != stack.labels["tpuwright-stack"]:
        return [
            f"{path}.name '{pod.name}' would be the node {placement.node} in {placement.zone}, which belongs to the "
            f"stack {owner}: rename the pod"
        ]
    if node and not is_lost(node, pod) and node.accelerator_type == pod.accelerator_type:
        # What runs was offered once; that it no longer is takes nothing away from it.
        return []
    refusals = []
    if pod.accelerator_type not in zone.accelerator_types:
        refusals.append(
            f"{path}.accelerator_type '{pod.accelerator_type}' is not offered in {placement.zone}: "
            + _elsewhere(placement)
        )
    if zone.runtime_versions and pod.image not in zone.runtime_versions:
        same = sorted(version for version in zone.runtime_versions if version.startswith(pod.image[:8]))
        known = ", ".join(same[:6]) or f"one of {len(zone.runtime_versions)} others"
        refusals.append(f"{path}.runtime_version '{pod.image}' is not offered in {placement.zone}: it has {known}")
    return refusals


def _elsewhere(placement: Placement) -> str:
    generation = placement.pod.accelerator.generation
    others = [zone for zone in generation.zones if zone != placement.zone]
    size = "another size, or " if placement.zone in generation.zones else ""
    return f"take {size}one of the zones known to have {generation.name}: {', '.join(others) or 'none other is known'}"
