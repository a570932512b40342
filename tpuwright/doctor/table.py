"""Findings as a table for people, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from tpuwright.doctor.check import Check, Finding, Status

_MARKS = {
    Status.OK: ("✓", "green"),
    Status.WARNING: ("!", "yellow"),
    Status.FAILED: ("✗", "red"),
    Status.SKIPPED: ("-", "dim"),
}


def as_table(findings: Sequence[tuple[Check, Finding]]) -> Table:
    """A line a check: what was found, and under it what to do."""
    table = Table(box=None, padding=(0, 1), show_header=False)
    table.add_column(width=1)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check, finding in findings:
        mark, style = _MARKS[finding.status]
        words = Text(finding.found)
        if finding.remedy:
            words.append(f"\n→ {finding.remedy}", style)
        table.add_row(Text(mark, style), check.name, words)
    return table


def summary(findings: Sequence[tuple[Check, Finding]]) -> str:
    """One line that says how it came out."""
    count = {status: sum(finding.status is status for _, finding in findings) for status in Status}
    if count[Status.FAILED]:
        return f"{count[Status.FAILED]} of {len(findings)} checks failed."
    if count[Status.WARNING]:
        return f"Nothing is in the way; {count[Status.WARNING]} of {len(findings)} checks have a warning."
    return f"All {len(findings)} checks are fine."


def as_json(stack: str | None, findings: Sequence[tuple[Check, Finding]]) -> dict[str, Any]:
    """{stack, ok, checks: [{name, why, status, found, remedy}]}"""
    return {
        "stack": stack,
        "ok": not any_failed(findings),
        "checks": [
            {
                "name": check.name,
                "why": check.why,
                "status": finding.status.value,
                "found": finding.found,
                "remedy": finding.remedy,
            }
            for check, finding in findings
        ],
    }


def any_failed(findings: Sequence[tuple[Check, Finding]]) -> bool:
    """Whether something will go wrong."""
    return any(finding.status is Status.FAILED for _, finding in findings)
