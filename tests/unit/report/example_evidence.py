"""Evidence of a pod of four hosts on which all went well, to be spoilt by a test."""

from __future__ import annotations

from typing import Any

from tpuwright.outputs import HostOutput, PodOutput
from tpuwright.report.evidence import Clock, HostEvidence, HostFacts, Joined, Limits, NodeEvidence, PodEvidence

VERSIONS = {"python": "3.11.2", "jax": "0.10.2", "jaxlib": "0.10.2", "libtpu": "0.0.42"}
HOSTS = 4


def pod() -> PodOutput:
    return PodOutput(
        name="pod",
        node="pod",
        zone="us-west4-a",
        accelerator_type="v5litepod-16",
        runtime_version="v2-alpha-tpuv5-lite",
        provisioning_model="standard",
        generation="v5e",
        topology="4x4",
        chips=16,
        chips_per_host=4,
        devices=16,
        jax_environment={"JAX_PLATFORMS": "cpu"},
        hosts=tuple(HostOutput(name=f"pod-w{n}", worker=n, internal_ip=f"10.9.0.{n + 2}") for n in range(HOSTS)),
    )


def joined(worker: int, until: str = "done", **changed: Any) -> Joined:
    """A process that came as far as ``until``; it ended well if that is "done", else at the time limit."""
    passed: list[dict[str, Any]] = [
        {"phase": "started", "seconds": 0.0},
        {"phase": "imported", "seconds": 1.0},
        {"phase": "joined", "seconds": 2.0, "process": worker, "processes": HOSTS},
        {
            "phase": "devices",
            "seconds": 2.1,
            "count": 16,
            "platform": "cpu",
            "local": [4 * worker + n for n in range(4)],
        },
        {"phase": "sum", "seconds": 3.0, "expected": 136, "found": [136]},
        {"phase": "steps", "seconds": 4.0, "median_ms": 1.5, "worst_ms": 2.5, "count": 10},
        {"phase": "done", "seconds": 4.1},
    ]
    names = [line["phase"] for line in passed]
    phases = passed[: names.index(until) + 1] if until else []
    ended = {"ended": "exit", "status": 0} if until == "done" else {"ended": "limit", "status": -9, "state": "S"}
    return Joined.model_validate({"phases": phases, **ended, **changed})


def facts(worker: int) -> HostFacts:
    members = [{"name": f"pod-w{n}", "worker": n, "internal_ip": f"10.9.0.{n + 2}"} for n in range(HOSTS)]
    return HostFacts(
        accel=0,
        vfio=4,
        versions=dict(VERSIONS),
        disk={"/": 50_000_000_000},
        hugepages="always",
        pod={"pod": "pod", "worker": worker, "members": members},
        clock=Clock(offset=0.2, uncertainty=0.3),
    )


def evidence() -> PodEvidence:
    hosts = [
        HostEvidence(name=f"pod-w{n}", worker=n, internal_ip=f"10.9.0.{n + 2}", facts=facts(n), joined=joined(n))
        for n in range(HOSTS)
    ]
    limits = Limits(join_seconds=60, total_seconds=120, min_free_gb=5, max_clock_skew=2)
    return PodEvidence(pod=pod(), hosts=hosts, limits=limits, node=NodeEvidence())
