"""What to do about a host that is dead: it depends on what the cloud says of its node."""

from __future__ import annotations

from typing import Final

from tpuwright.report.evidence import PodEvidence

#: States that end in READY by themselves; the same set as tpuwright.cloud.tpu.COMING, which loads Google's client.
REPAIRING_STATES: Final = frozenset({"CREATING", "REPAIRING", "RESTARTING", "STARTING", "REIMAGING", "UNHIDING"})
#: Of a READY node: the cloud sees that something is wrong, and a repair may follow.
NOTICED_HEALTH: Final = frozenset({"TIMEOUT", "UNHEALTHY_MAINTENANCE"})


def node_in_words(pod: PodEvidence) -> str:
    """ "the cloud says READY, UNHEALTHY_MAINTENANCE (…)"; or that it could not be asked."""
    node = pod.node
    if node.error:
        return f"the cloud could not be asked ({node.error.rstrip('.')})"
    if not node.state:
        return "the cloud was not asked"
    words = [node.state]
    if node.health and node.health not in ("HEALTHY", "HEALTH_UNSPECIFIED"):
        words.append(node.health)
    if node.description:
        words.append(node.description)
    return f"the cloud says {', '.join([*words, *node.symptoms])}"


def advice_for_dead_host(pod: PodEvidence, host: str) -> str:
    """One sentence without its full stop."""
    said = node_in_words(pod)
    if pod.node.state in REPAIRING_STATES:
        return (
            f"{said}: it is repairing {host}; wait with `tpuwright wait {pod.pod.name}`, then run site.yml again "
            "(the inventory waits, too)"
        )
    if pod.node.state in ("PREEMPTED", "TERMINATED"):
        return f"{said}: run `pulumi up`, which replaces the pod, then site.yml"
    command = f"`pulumi up --replace '{pod.node.urn}'`" if pod.node.urn else "`pulumi up --replace` with its URN"
    if pod.node.health in NOTICED_HEALTH:
        return (
            f"{said}: it has noticed and may repair {host} within minutes (the inventory waits for that, so run "
            f"site.yml again); if not, one host of a slice cannot be replaced alone, and {command} replaces the slice"
        )
    return f"{said}: one host of a slice cannot be replaced alone; {command} replaces the slice, then run site.yml"
