"""What a play knows of its hosts, as evidence: also of hosts that never came to the verification."""

from __future__ import annotations

from typing import Any

from example_evidence import evidence

from tpuwright.outputs import PodOutput
from tpuwright.report.evidence import Limits, NodeEvidence
from tpuwright.report.from_ansible import pods_of

LIMITS = Limits.model_validate(
    {"join_seconds": 120, "total_seconds": 240, "min_free_gb": 5, "max_clock_skew": 2, "stack": "dev", "directory": "d"}
)


def asked_by(hosts: dict[str, dict[str, Any]]) -> tuple[Any, list[str]]:
    asked: list[str] = []

    def ask(pod: PodOutput) -> NodeEvidence:
        asked.append(pod.name)
        return NodeEvidence(state="READY")

    return pods_of(hosts, LIMITS, "", ask), asked


def variables(pod: PodOutput) -> dict[str, Any]:
    members = [{"name": host.name, "worker": host.worker, "internal_ip": host.internal_ip} for host in pod.hosts]
    return {
        "__verify_about": {"pod": pod.model_dump(), "members": members},
        "__verify_host": {"failed": True, "msg": "no"},
    }


def test_a_host_that_an_earlier_play_lost_is_named_by_what_the_others_know() -> None:
    pod = evidence().pod
    hosts = {host.name: variables(pod) for host in pod.hosts}
    hosts["pod-w1"] = {}
    (found,), asked = asked_by(hosts)
    lost = found.hosts[1]
    assert lost.name == "pod-w1"
    assert lost.unreachable.startswith("lost while it was configured")
    assert "pod-w1" in found.not_launched
    assert asked == ["pod"]


def test_a_host_left_out_by_limit_is_not_called_dead() -> None:
    pod = evidence().pod
    (found,), _ = asked_by({"pod-w0": variables(pod)})
    assert not found.hosts[1].unreachable
    assert found.hosts[1].error == "this play leaves it out"
