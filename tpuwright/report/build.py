"""Makes the report out of the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version

from tpuwright.report.evidence import HostEvidence, PodEvidence
from tpuwright.report.host_checks import host_checks
from tpuwright.report.launch_checks import PHASES, launch_checks
from tpuwright.report.model import Check, HostReport, PodReport, Report, Status, worst


def build(stack: str, pods: Sequence[PodEvidence], now: datetime | None = None) -> Report:
    """The judged report of one verification."""
    reports = [_pod(pod) for pod in pods]
    status = worst([pod.status for pod in reports])
    return Report(
        stack=stack,
        created=(now or datetime.now(UTC)).replace(microsecond=0),
        tpuwright_version=version("tpuwright"),
        status=status,
        summary=" ".join(_summary(pod, evidence) for pod, evidence in zip(reports, pods, strict=True)),
        pods=reports,
    )


def failures(report: Report) -> list[Check]:
    """The checks that failed, in order."""
    return [check for pod in report.pods for check in pod.checks if check.status is Status.FAIL]


def verdict(report: Report) -> str:
    """One sentence for each thing that failed: where, check, found, expected, what to do; "" when nothing did."""
    sentences: list[str] = []
    said: set[str] = set()
    dead: set[str | None] = set()
    for pod in report.pods:
        for check in pod.checks:
            # A host that does not answer fails in more ways, all of one cause.
            if check.status is not Status.FAIL or check.host in dead:
                continue
            if check.id == "reachable":
                dead.add(check.host)
            wanted = f", expected {check.expected}" if check.expected else ""
            advice = f"; {check.remedy}" if check.remedy and check.remedy not in said else ""
            said.add(check.remedy)
            sentences.append(f"{check.host or f'pod {pod.name}'}, {check.title}: {check.found}{wanted}{advice}.")
    more = f" And {len(sentences) - 3} more in the report." if len(sentences) > 3 else ""
    return " ".join(sentences[:3]) + more


def _pod(evidence: PodEvidence) -> PodReport:
    checks = host_checks(evidence) + launch_checks(evidence)
    pod = evidence.pod
    return PodReport(
        name=pod.name,
        accelerator_type=pod.accelerator_type,
        zone=pod.zone,
        topology=pod.topology,
        node_state=evidence.node.state,
        # A launch that did not happen proves nothing: the pod passes only when every host joined.
        status=_status(checks),
        hosts=[_host(host, checks) for host in evidence.hosts],
        checks=checks,
        phases=_phases(evidence),
        steps=_steps(evidence),
    )


def _status(checks: list[Check]) -> Status:
    found = worst([check.status for check in checks])
    proved = any(check.id == "sum" and check.status is Status.PASS for check in checks)
    return found if found is Status.FAIL or proved else Status.SKIP


def _host(host: HostEvidence, checks: list[Check]) -> HostReport:
    joined = host.joined
    done = bool(joined and joined.last == "done")
    devices = ((joined and joined.passed("devices")) or {}).get("local", [])
    return HostReport(
        name=host.name,
        worker=host.worker,
        internal_ip=host.internal_ip,
        status=worst([check.status for check in checks if check.host == host.name]),
        phase=joined.last if joined else "",
        devices=devices,
        versions=host.facts.versions if host.facts else {},
        output="" if done or not joined else joined.output,
    )


def _phases(evidence: PodEvidence) -> dict[str, float]:
    """Seconds from a process's start to each phase, on the host that was last."""
    found: dict[str, float] = {}
    for phase in PHASES:
        seconds = [
            float(passed["seconds"]) for host in evidence.hosts if host.joined and (passed := host.joined.passed(phase))
        ]
        if seconds and phase != "started":
            found[phase] = max(seconds)
    return found


def _steps(evidence: PodEvidence) -> dict[str, float]:
    timed = [passed for host in evidence.hosts if host.joined and (passed := host.joined.passed("steps"))]
    if not timed:
        return {}
    return {key: max(float(each[key]) for each in timed) for key in ("median_ms", "worst_ms")}


def _summary(pod: PodReport, evidence: PodEvidence) -> str:
    hosts = len(pod.hosts)
    if pod.status in (Status.PASS, Status.WARN):
        warned = sum(check.status is Status.WARN for check in pod.checks)
        advice = f" ({warned} warning{'s' if warned > 1 else ''})" if warned else ""
        return (
            f"Pod {pod.name} works: {evidence.pod.devices} devices in {hosts} process{'es' if hosts > 1 else ''} on "
            f"{hosts} host{'s' if hosts > 1 else ''} added up right{advice}."
        )
    if pod.status is Status.SKIP:
        return f"Pod {pod.name} was looked at, but nothing was launched on it: {evidence.not_launched}."
    blamed: dict[str, list[str]] = {}
    for check in pod.checks:
        if check.status is Status.FAIL:
            blamed.setdefault(check.host or "the whole", []).append(check.title)
    words = "; ".join(f"{where} failed ({', '.join(titles)})" for where, titles in blamed.items())
    return f"Pod {pod.name} does not work: {words}."
