"""Asks the API about the node of a pod in trouble. What cannot be asked is said, and stops nothing."""

from __future__ import annotations

from pathlib import Path

from tpuwright.errors import TpuwrightError
from tpuwright.outputs import PodOutput
from tpuwright.report.evidence import NodeEvidence


def ask_node(stack: str, pod: PodOutput, start: Path) -> NodeEvidence:
    """State, health, symptoms and URN of the first of the pod's nodes that is not READY, else of the first."""
    from tpuwright.live import Cloud
    from tpuwright.stack import open_stack

    try:
        chosen = open_stack(stack, start)
        nodes = Cloud(chosen.outputs).nodes(pod)
        node = next((each for each in nodes if each.state != "READY"), nodes[0])
        urn = chosen.urn_of_node(node.name) or ""
    except TpuwrightError as error:
        return NodeEvidence(error=str(error))
    symptoms = [f"{symptom.type} on worker {symptom.worker} ({symptom.details})" for symptom in node.symptoms]
    return NodeEvidence(
        state=node.state, health=node.health, description=node.health_description, symptoms=symptoms, urn=urn
    )
