"""The report as one aligned table in plain text."""

from __future__ import annotations

from collections.abc import Sequence

from tpuwright.report.model import Check, PodReport, Report, Status

_WORDS = {Status.PASS: "ok", Status.WARN: "warn", Status.FAIL: "FAILED", Status.SKIP: "-"}
_FOUND_WIDTH = 96


def table(report: Report) -> str:
    """Lines of at most some 150 columns, then one line of summary; what every host passed is one line."""
    lines: list[str] = []
    for pod in report.pods:
        rows = [("CHECK", "WHERE", "RESULT", "FOUND"), *_rows(pod)]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        about = f"{pod.name}: {pod.accelerator_type} ({pod.topology}) in {pod.zone}, {len(pod.hosts)} hosts"
        lines += [about, ""]
        for check, where, result, found in rows:
            lines.append(f"  {check:<{widths[0]}}  {where:<{widths[1]}}  {result:<{widths[2]}}  {found}".rstrip())
        if pod.phases:
            times = ", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in pod.phases.items())
            lines += ["", f"  Slowest host at each phase: {times}"]
        lines.append("")
    return "\n".join([*lines, report.summary])


def _rows(pod: PodReport) -> list[tuple[str, str, str, str]]:
    rows = []
    for id in dict.fromkeys(check.id for check in pod.checks):
        group = [check for check in pod.checks if check.id == id]
        passed = [check for check in group if check.status is Status.PASS]
        if passed:
            rows.append((passed[0].title, _where(passed, pod), _WORDS[Status.PASS], _short(_together(passed))))
        for check in group:
            if check.status is not Status.PASS:
                expected = f"; expected {check.expected}" if check.expected and check.status is not Status.SKIP else ""
                rows.append((check.title, check.host or "pod", _WORDS[check.status], _short(check.found + expected)))
    return rows


def _where(checks: Sequence[Check], pod: PodReport) -> str:
    if checks[0].host is None:
        return "pod"
    if len(checks) == 1:
        return str(checks[0].host)
    return f"all {len(checks)} hosts" if len(checks) == len(pod.hosts) else f"{len(checks)} hosts"


def _together(checks: Sequence[Check]) -> str:
    found = list(dict.fromkeys(check.found for check in checks))
    return found[0] if len(found) == 1 else checks[0].expected


def _short(text: str) -> str:
    return text if len(text) <= _FOUND_WIDTH else text[: _FOUND_WIDTH - 1] + "…"
