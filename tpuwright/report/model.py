"""The report as data. Its JSON schema is committed at docs/report.schema.json."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_VERSION = 1


class Status(StrEnum):
    """``skip``: could not be looked at, or does not apply; the reason is in ``found``."""

    PASS = "pass"  # noqa: S105 - a verdict
    WARN = "warn"
    FAIL = "fail"
    SKIP = "skip"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Check(_Model):
    """One question and its answer. ``host`` is None for a question about the whole pod."""

    id: str = Field(description="Stable name of the check, such as device_nodes.")
    title: str
    host: str | None = None
    status: Status
    expected: str = ""
    found: str = ""
    remedy: str = Field(default="", description="What to do; empty unless the check warns or fails.")


class HostReport(_Model):
    """One host: its verdict, and what was found on it."""

    name: str
    worker: int
    internal_ip: str
    status: Status
    phase: str = Field(default="", description="The last phase of the launch that this host was past.")
    devices: list[int] = Field(default_factory=list, description="Ids of the devices that its process had.")
    versions: dict[str, str] = Field(default_factory=dict)
    output: str = Field(default="", description="The end of its process's output, when it did not finish.")


class PodReport(_Model):
    """One pod: its hosts, its checks, how long each phase of the launch took at most (seconds)."""

    name: str
    accelerator_type: str
    zone: str
    topology: str
    node_state: str
    status: Status
    hosts: list[HostReport]
    checks: list[Check]
    phases: dict[str, float] = Field(default_factory=dict)
    steps: dict[str, float] = Field(default_factory=dict, description="median_ms and worst_ms of the timed step.")


class Report(_Model):
    """One verification of a stack."""

    schema_version: int = SCHEMA_VERSION
    stack: str
    created: datetime
    tpuwright_version: str
    status: Status
    summary: str = Field(description="One sentence.")
    pods: list[PodReport]


def worst(statuses: list[Status]) -> Status:
    """The status of a whole: fail before warn before pass; only skips make a skip."""
    for status in (Status.FAIL, Status.WARN, Status.PASS):
        if status in statuses:
            return status
    return Status.SKIP


def json_schema() -> dict[str, Any]:
    """The schema of report.json, as committed."""
    schema = Report.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
