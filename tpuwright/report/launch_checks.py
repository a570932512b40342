"""Judges the launch on all hosts at once: who did not join, and whether the devices are those that were paid for."""

from __future__ import annotations

from typing import Final

from tpuwright.report.evidence import HostEvidence, PodEvidence
from tpuwright.report.model import Check, Status
from tpuwright.report.node_advice import advice_for_dead_host

PHASES: Final = ("started", "imported", "joined", "devices", "sum", "steps", "done")
#: What a process is doing when the phase is the last one behind it.
_DOING: Final = {
    "": "its process never started",
    "started": "stuck importing jax",
    "imported": "in jax.distributed.initialize()",
    "joined": "in jax.devices(), looking for the TPU's chips",
    "devices": "in the sum over all devices",
    "sum": "in the timed steps",
    "steps": "leaving",
}
#: What JAX says when it gave up on others (jax 0.10: RegisterTask's deadline, then the end of the process).
_OTHERS_FAULT: Final = ("DEADLINE_EXCEEDED", "detected fatal errors", "UNAVAILABLE")


def launch_checks(pod: PodEvidence) -> list[Check]:
    """Checks of the launch; one skipped or failed check when there was none."""
    if pod.not_launched:
        return [Check(id="join", title="Joins the others", status=Status.SKIP, found=pod.not_launched)]
    blamed = missing(pod)
    checks = [_join(pod, host, blamed) for host in pod.hosts]
    if all(host.joined and host.joined.passed("devices") for host in pod.hosts):
        checks += [_processes(pod), _own_devices(pod), _devices(pod), _platform(pod), _sum(pod)]
    return checks


def missing(pod: PodEvidence) -> dict[str, str]:
    """Why the pod did not come together: the hosts to blame and what each was doing. {} when all finished.

    A host that only waits for others is not to blame: blamed is who is unreachable, stopped, ended with an error of
    its own, or furthest behind.
    """
    unfinished = [host for host in pod.hosts if not _finished(host)]
    if not unfinished:
        return {}
    blamed = {host.name: reason for host in unfinished if (reason := _own_fault(host))}
    if blamed:
        return blamed
    ranks = {host.name: _rank(host) for host in unfinished}
    behind, ahead = min(ranks.values()), max(_rank(host) for host in pod.hosts)
    if behind == ahead:
        return {}
    return {
        host.name: _DOING[PHASES[ranks[host.name]] if ranks[host.name] >= 0 else ""]
        for host in unfinished
        if ranks[host.name] == behind
    }


def _own_fault(host: HostEvidence) -> str:
    joined = host.joined
    if joined is None:
        return (
            "host unreachable during the launch"
            if host.unreachable
            else f"its process never started ({host.join_error})"
        )
    if joined.state in ("T", "t"):
        return f"its process is stopped (state T), {_DOING.get(joined.last, '')}"
    if joined.state == "D":
        return f"its process hangs in the kernel (state D), {_DOING.get(joined.last, '')}"
    if joined.ended == "signal" and joined.status in (-9, -15) and joined.last != "done":
        return f"its process was killed (signal {-joined.status}), {_DOING.get(joined.last, '')}"
    if joined.ended == "exit" and joined.status != 0 and not any(words in joined.output for words in _OTHERS_FAULT):
        return f"its process failed: {last_words(joined.output)}"
    return ""


def last_words(output: str) -> str:
    """The line of an output that says most: the last that is not part of a stack trace."""
    lines = [line.strip() for line in output.splitlines() if line.strip() and not line.startswith((" ", "@", "***"))]
    return lines[-1][:300] if lines else "without a word"


def _finished(host: HostEvidence) -> bool:
    return bool(host.joined and host.joined.last == "done" and host.joined.status == 0)


def _rank(host: HostEvidence) -> int:
    return PHASES.index(host.joined.last) if host.joined and host.joined.last in PHASES else -1


def _join(pod: PodEvidence, host: HostEvidence, blamed: dict[str, str]) -> Check:
    limit = pod.limits.join_seconds
    check = Check(
        id="join", title="Joins the others", host=host.name, status=Status.PASS, expected=f"joined within {limit} s"
    )
    if _finished(host):
        seconds = ((host.joined and host.joined.passed("joined")) or {}).get("seconds", 0)
        return check.model_copy(update={"found": f"joined after {seconds:.1f} s"})
    doing = _DOING.get(host.joined.last if host.joined else "", "")
    if host.name in blamed:
        remedy = (
            advice_for_dead_host(pod, host.name)
            if "unreachable" in blamed[host.name]
            else f"look at the end of its output in the report, and run `ssh {host.name}`"
        )
        found = f"{'did not join' if _rank(host) < PHASES.index('joined') else 'did not finish'}: {blamed[host.name]}"
        return check.model_copy(update={"status": Status.FAIL, "found": found, "remedy": remedy})
    if blamed:
        found = f"waited {doing} for {', '.join(sorted(blamed))}"
        return check.model_copy(update={"status": Status.SKIP, "found": found})
    first = pod.hosts[0].name
    remedy = (
        f"no host could be singled out: check that the hosts reach each other on every port, most of all {first} on "
        "8482 (the coordinator), and the end of their output in the report"
    )
    return check.model_copy(update={"status": Status.FAIL, "found": f"did not finish: {doing}", "remedy": remedy})


def _values(pod: PodEvidence, phase: str, key: str) -> dict[str, object]:
    return {host.name: (host.joined.passed(phase) or {}).get(key) for host in pod.hosts if host.joined}


def _same(pod: PodEvidence, id: str, title: str, phase: str, key: str, expected: object, remedy: str) -> Check:
    values = _values(pod, phase, key)
    wrong = {name: value for name, value in values.items() if value != expected}
    found = "; ".join(f"{value} on {name}" for name, value in wrong.items()) if wrong else str(expected)
    if len(set(map(str, wrong.values()))) == 1 and len(wrong) == len(values):
        found = str(next(iter(wrong.values())))
    return Check(
        id=id,
        title=title,
        status=Status.FAIL if wrong else Status.PASS,
        expected=str(expected),
        found=found,
        remedy=remedy if wrong else "",
    )


def _processes(pod: PodEvidence) -> Check:
    remedy = "run site.yml again: the hosts disagree about who is in the pod"
    return _same(pod, "processes", "JAX processes", "joined", "processes", len(pod.hosts), remedy)


def _devices(pod: PodEvidence) -> Check:
    remedy = f"{pod.pod.accelerator_type} must have {pod.pod.devices} devices: " + (
        f"`pulumi up --replace '{pod.node.urn}'` makes the slice anew"
        if pod.node.urn
        else "replace the slice with `pulumi up --replace`"
    )
    return _same(pod, "devices", "JAX devices", "devices", "count", pod.pod.devices, remedy)


def _own_devices(pod: PodEvidence) -> Check:
    wanted = pod.pod.devices // max(1, len(pod.hosts))
    counts = {name: len(ids) if isinstance(ids, list) else 0 for name, ids in _values(pod, "devices", "local").items()}
    wrong = {name: count for name, count in counts.items() if count != wanted}
    return Check(
        id="own_devices",
        title="Devices of each process",
        status=Status.FAIL if wrong else Status.PASS,
        expected=f"{wanted} on each host",
        found="; ".join(f"{count} on {name}" for name, count in wrong.items()) if wrong else f"{wanted} on each host",
        remedy="check JAX's variables (TPU_VISIBLE_CHIPS, XLA_FLAGS) in /etc/environment of that host" if wrong else "",
    )


def _platform(pod: PodEvidence) -> Check:
    remedy = "check JAX_PLATFORMS in /etc/environment and that libtpu is installed in ~/venv"
    return _same(pod, "platform", "Platform", "devices", "platform", pod.platform, remedy)


def _sum(pod: PodEvidence) -> Check:
    # Judged for the devices that took part: that some are missing is another check's matter.
    results = {host.name: host.joined.passed("sum") if host.joined else None for host in pod.hosts}
    wrong = {name: line["found"] if line else "no result" for name, line in results.items() if not _right(line)}
    expected = next((str(line["expected"]) for line in results.values() if line), "a result")
    remedy = "the chips' network gives wrong results: replace the slice with `pulumi up --replace` and tell Google"
    return Check(
        id="sum",
        title="Sum over all devices",
        status=Status.FAIL if wrong else Status.PASS,
        expected=expected,
        found="; ".join(f"{value} on {name}" for name, value in wrong.items()) if wrong else expected,
        remedy=remedy if any(results[name] for name in wrong) else "",
    )


def _right(line: dict[str, object] | None) -> bool:
    return line is not None and line["found"] == [line["expected"]]
