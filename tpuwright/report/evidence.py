"""What the playbook brings back from the hosts, before anybody judges it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tpuwright.outputs import PodOutput


class _Evidence(BaseModel):
    model_config = ConfigDict(extra="ignore")


class Clock(_Evidence):
    """Seconds that the host's clock is ahead of this machine's, and how wrong that may be."""

    offset: float
    uncertainty: float


class HostFacts(_Evidence):
    """The result of the module tpuwright_host."""

    accel: int
    vfio: int
    versions: dict[str, str]
    disk: dict[str, int]
    hugepages: str
    pod: dict[str, Any] | None
    users: list[dict[str, Any]] = Field(default_factory=list)
    clock: Clock


class Joined(_Evidence):
    """The result of tpuwright_process_result; ``ended`` is exit, signal or limit, ``state`` the kernel's letter."""

    phases: list[dict[str, Any]] = Field(default_factory=list)
    ended: str
    status: int
    state: str = ""
    output: str = ""

    def passed(self, phase: str) -> dict[str, Any] | None:
        """What the process said on passing ``phase``; None if it did not."""
        return next((line for line in self.phases if line.get("phase") == phase), None)

    @property
    def last(self) -> str:
        """The last phase passed; "" when the process never started."""
        return str(self.phases[-1]["phase"]) if self.phases else ""


class HostEvidence(_Evidence):
    """All about one host. ``unreachable`` and ``error`` say why there are no facts, ``join_error`` why no launch."""

    name: str
    worker: int
    internal_ip: str
    unreachable: str = ""
    error: str = ""
    facts: HostFacts | None = None
    joined: Joined | None = None
    join_error: str = ""


class NodeEvidence(_Evidence):
    """What the API says of the node now; ``urn`` is its resource in the stack."""

    state: str = ""
    health: str = ""
    description: str = ""
    symptoms: list[str] = Field(default_factory=list)
    urn: str = ""
    error: str = ""


class Limits(_Evidence):
    """The role's limits: seconds, GB, seconds."""

    join_seconds: int
    total_seconds: int
    min_free_gb: float
    max_clock_skew: float


class PodEvidence(_Evidence):
    """All about one pod; ``launched`` is why there was no launch, or "" when there was one."""

    pod: PodOutput
    hosts: list[HostEvidence]
    limits: Limits
    not_launched: str = ""
    node: NodeEvidence = NodeEvidence()

    @property
    def platform(self) -> str:
        """The platform that JAX must find."""
        first = self.pod.jax_environment.get("JAX_PLATFORMS", "").split(",")[0].strip()
        return first or "tpu"
