"""A check: one question about the machine or the cloud, and its answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """How a check came out; only FAILED makes `tpuwright doctor` exit with 1."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Finding:
    """What was found, and what to do about it ("" where nothing)."""

    status: Status
    found: str
    remedy: str = ""


@dataclass(frozen=True)
class Check:
    """One question. `run` answers it; a TpuwrightError of its own is an answer as well: FAILED."""

    name: str
    why: str
    run: Callable[[], Finding]
    after: tuple[str, ...] = ()
    """Names of checks without whose success the question makes no sense."""


def ok(found: str) -> Finding:
    """All is well."""
    return Finding(Status.OK, found)


def warning(found: str, remedy: str) -> Finding:
    """It may go wrong; it need not."""
    return Finding(Status.WARNING, found, remedy)


def failed(found: str, remedy: str) -> Finding:
    """It will go wrong."""
    return Finding(Status.FAILED, found, remedy)
