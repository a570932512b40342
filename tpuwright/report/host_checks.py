"""Judges what each host has by itself."""

from __future__ import annotations

from collections import Counter
from typing import Final

from tpuwright.report.evidence import HostEvidence, HostFacts, PodEvidence
from tpuwright.report.model import Check, Status
from tpuwright.report.node_advice import advice_for_dead_host

#: From v5e on the device nodes are /dev/vfio/N, before /dev/accelN (Google's images; see docs of the TPU VM).
_ACCEL_GENERATIONS: Final = frozenset({"v2", "v3", "v4"})
_CONFIGURE: Final = "run `ansible-playbook site.yml -i inventories/pod`"


def host_checks(pod: PodEvidence) -> list[Check]:
    """Checks of every host, and those that compare hosts."""
    found: list[Check] = []
    for host in pod.hosts:
        found.append(_reachable(pod, host))
        if host.facts:
            found += _facts_checks(pod, host, host.facts)
    found.append(_versions(pod))
    return found


def _reachable(pod: PodEvidence, host: HostEvidence) -> Check:
    check = Check(id="reachable", title="Reachable", host=host.name, status=Status.PASS, expected="answers to ssh")
    if host.unreachable:
        # Ansible's own words come before ssh's.
        reason = " ".join(host.unreachable.rpartition("reached over ssh:")[2].split())[-200:]
        return check.model_copy(
            update={
                "status": Status.FAIL,
                "found": f"does not answer ({reason})" if reason else "does not answer",
                "remedy": advice_for_dead_host(pod, host.name),
            }
        )
    if host.facts is None:
        reason = " ".join(host.error.split())[:200] or "it was not asked"
        remedy = f"{_CONFIGURE} and look at its first error"
        return check.model_copy(
            update={"status": Status.FAIL, "found": f"could not be examined ({reason})", "remedy": remedy}
        )
    return check.model_copy(update={"found": "answers"})


def _facts_checks(pod: PodEvidence, host: HostEvidence, facts: HostFacts) -> list[Check]:
    return [
        _pod_file(pod, host, facts),
        _device_nodes(pod, host, facts),
        _free_tpu(host, facts),
        _disk(pod, host, facts),
        _clock(pod, host, facts),
        *_hugepages(pod, host, facts),
    ]


def _pod_file(pod: PodEvidence, host: HostEvidence, facts: HostFacts) -> Check:
    expected = {(each.name, each.internal_ip) for each in pod.hosts}
    written = facts.pod or {}
    members = {(str(each.get("name")), str(each.get("internal_ip"))) for each in written.get("members", [])}
    right = members == expected and written.get("worker") == host.worker
    return Check(
        id="pod_file",
        title="Facts of the pod",
        host=host.name,
        status=Status.PASS if right else Status.FAIL,
        expected=f"/etc/tpuwright/pod.json: worker {host.worker}, {len(expected)} members with today's addresses",
        found="as expected"
        if right
        else f"worker {written.get('worker')}, {len(members)} members"
        + (" with other addresses" if len(members) == len(expected) else "")
        if written
        else "no such file",
        remedy="" if right else _CONFIGURE,
    )


def _device_nodes(pod: PodEvidence, host: HostEvidence, facts: HostFacts) -> Check:
    old = pod.pod.generation in _ACCEL_GENERATIONS
    found = facts.accel if old else facts.vfio
    name = "/dev/accelN" if old else "/dev/vfio/N"
    wanted = pod.pod.chips_per_host
    right = found == wanted
    return Check(
        id="device_nodes",
        title="TPU device nodes",
        host=host.name,
        status=Status.PASS if right else Status.FAIL,
        expected=f"{wanted} of {name}",
        found=f"{found} of {name}",
        remedy="" if right else advice_for_dead_host(pod, host.name),
    )


def _free_tpu(host: HostEvidence, facts: HostFacts) -> Check:
    check = Check(
        id="tpu_free",
        title="TPU not in use",
        host=host.name,
        status=Status.PASS,
        expected="no process",
        found="no process",
    )
    if not facts.users:
        return check
    who = ", ".join(f"{user['command']} (pid {user['pid']})" for user in facts.users[:3])
    remedy = "wait for the job to end, or stop it: one process at a time can use a TPU"
    return check.model_copy(update={"status": Status.FAIL, "found": who, "remedy": remedy})


def _disk(pod: PodEvidence, host: HostEvidence, facts: HostFacts) -> Check:
    path, free = min(facts.disk.items(), key=lambda item: item[1])
    gigabytes = free / 1e9
    right = gigabytes >= pod.limits.min_free_gb
    return Check(
        id="disk",
        title="Disk space",
        host=host.name,
        status=Status.PASS if right else Status.FAIL,
        expected=f"at least {pod.limits.min_free_gb:g} GB free",
        found=f"{gigabytes:.1f} GB free on {path}",
        remedy=""
        if right
        else f"free some space on {path} (`podrun -- du -xh --max-depth=2 ~ | sort -h | tail` shows what takes it)",
    )


def _clock(pod: PodEvidence, host: HostEvidence, facts: HostFacts) -> Check:
    limit = pod.limits.max_clock_skew
    # The offset is known only within the time that asking took.
    surely = max(0.0, abs(facts.clock.offset) - facts.clock.uncertainty)
    right = surely <= limit
    return Check(
        id="clock",
        title="Clock",
        host=host.name,
        status=Status.PASS if right else Status.FAIL,
        expected=f"within {limit:g} s of this machine's",
        found=f"off by at least {surely:.1f} s" if surely else "in step",
        remedy="" if right else "look at `chronyc tracking` on the host and at this machine's own clock",
    )


def _hugepages(pod: PodEvidence, host: HostEvidence, facts: HostFacts) -> list[Check]:
    if pod.pod.generation in _ACCEL_GENERATIONS or pod.platform != "tpu":
        return []
    right = facts.hugepages == "always"
    check = Check(
        id="hugepages",
        title="Transparent hugepages",
        host=host.name,
        status=Status.PASS if right else Status.WARN,
        expected="always",
        found=facts.hugepages or "not offered by the kernel",
        remedy="" if right else f"{_CONFIGURE}: the TPU starts and stops faster with them",
    )
    return [check]


def _versions(pod: PodEvidence) -> Check:
    title, expected = "Same versions everywhere", "Python, jax, jaxlib and libtpu equal on all hosts"
    check = Check(id="versions", title=title, status=Status.PASS, expected=expected)
    known = {host.name: host.facts.versions for host in pod.hosts if host.facts}
    if not known:
        return check.model_copy(update={"status": Status.SKIP, "found": "no host could be asked"})
    without = [name for name, versions in known.items() if "jax" not in versions]
    if without:
        found = f"no JAX in ~/venv on {', '.join(without)}"
        return check.model_copy(update={"status": Status.FAIL, "found": found, "remedy": _CONFIGURE})
    common = Counter(tuple(sorted(versions.items())) for versions in known.values()).most_common(1)[0][0]
    words = ", ".join(f"{name} {version}" for name, version in common)
    others = [
        f"{host} has {name} {versions.get(name, '-')}"
        for host, versions in known.items()
        for name, version in common
        if versions.get(name) != version
    ]
    if others:
        found = f"{'; '.join(others)}; the others have {words}"
        return check.model_copy(update={"status": Status.FAIL, "found": found, "remedy": _CONFIGURE})
    return check.model_copy(update={"found": words})
