"""What can be set on a running emulator: how long things take, how much there is, what goes wrong."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Seconds = Annotated[float, Field(ge=0, le=86400)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", validate_assignment=True)


class Timings(_Part):
    """Seconds that steps take, on top of what the hosts themselves need."""

    node_create: Seconds = 0.5
    node_delete: Seconds = 0.2
    node_patch: Seconds = 0.1
    node_start: Seconds = 0.3
    node_stop: Seconds = 0.3
    node_maintenance: Seconds = 1.0
    stockout: Seconds = 0.5
    """Until a creation without capacity fails; Google takes 31 to 71 s."""
    queue: Seconds = 0.3
    """Each step of a queued resource before its nodes are made."""
    compute: Seconds = 0.0
    """A Compute operation."""
    repair: Seconds = 2.0
    """From a host's death to the start of its repair."""


class Quota(_Part):
    """A limit on chips, by generation and tier. Example: {"generation": "v6e", "tier": "spot", "chips": 0}."""

    generation: str
    tier: Literal["standard", "spot", "any"] = "any"
    chips: Annotated[int, Field(ge=0)]


class Reservation(_Part):
    """Reserved chips of one generation in one zone; nodes that ask for a reservation are made from them."""

    name: Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$")]
    zone: str
    generation: str
    chips: Annotated[int, Field(ge=0)]


class ApiFault(_Part):
    """Requests to the methods that match `methods` are refused, for a number of times or of seconds."""

    methods: str = "*"
    """A glob over discovery method ids: "tpu.projects.locations.nodes.*"."""
    http_code: Literal[401, 403, 429, 500, 502, 503, 504] = 503
    message: str = ""
    times: Annotated[int, Field(ge=1)] | None = None
    """How many requests are refused; None: no end by number."""
    seconds: Seconds | None = None
    """How long, from the moment it is set; None: no end by time."""
    since: str | None = None
    """Set by the emulator: when the fault began, RFC 3339."""


class Faults(_Part):
    """What goes wrong on purpose."""

    api: list[ApiFault] = Field(default_factory=list)
    says_preempted: bool = True
    """False: a preempted node keeps state READY, as skypilot#1468 has seen."""
    preempted_lingers: bool = True
    """True: a preempted node stays, state PREEMPTED, until it is deleted. False: it vanishes by itself."""
    preempt_after: Seconds | None = None
    """Spot nodes are preempted that long after they became ready."""
    hosts_that_never_come: list[str] = Field(default_factory=list)
    """Globs over host keys (".../nodes/pod/workers/2"): their nodes stay CREATING."""
    repair: Literal["auto", "never"] = "auto"


class EmulatorSettings(_Part):
    """All settings. They are kept with the emulator's state and survive its restart."""

    timings: Timings = Field(default_factory=Timings)
    capacity: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    """Chips that exist, by a "zone/acceleratorType" glob; the first that matches counts. No match: no limit.

    "us-west4-a/v5litepod-16": 16 has room for one node; 0 is a stockout. All nodes that match share it.
    """
    quota: list[Quota] = Field(default_factory=list)
    reservations: list[Reservation] = Field(default_factory=list)
    faults: Faults = Field(default_factory=Faults)

    def capacity_of(self, zone: str, accelerator_type: str) -> tuple[str, int] | None:
        """(the glob that matches, chips), or None for no limit."""
        wanted = f"{zone}/{accelerator_type}"
        for glob, chips in self.capacity.items():
            if fnmatchcase(wanted, glob):
                return glob, chips
        return None
