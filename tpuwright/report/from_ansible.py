"""Turns what a play knows about its hosts into evidence. Plain dictionaries in, models out; no Ansible here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tpuwright.outputs import PodOutput
from tpuwright.report.evidence import HostEvidence, HostFacts, Joined, Limits, NodeEvidence, PodEvidence

AskNode = Callable[[PodOutput], NodeEvidence]


def pods_of(
    hosts: Mapping[str, Mapping[str, Any]], limits: Limits, not_launched: str, ask_node: AskNode
) -> list[PodEvidence]:
    """Evidence by pod. ``hosts`` has, for each host of the play, the facts that the role verify kept.

    The node is asked about only when a host of its pod is in trouble. A member that the play left out (--limit)
    appears as a host that nobody asked.
    """
    pods: dict[str, Mapping[str, Any]] = {}
    for variables in hosts.values():
        # A host that an earlier play lost never came here; the other members know its pod.
        if about := variables.get("__verify_about"):
            pods.setdefault(about["pod"]["name"], about)
    found = []
    for entry in pods.values():
        pod = PodOutput.model_validate(entry["pod"])
        evidence = [_host(member, hosts.get(member["name"])) for member in entry["members"]]
        reason = not_launched or _why_not_launched(evidence)
        trouble = any(host.facts is None or (host.joined is None and not reason) for host in evidence) or any(
            host.joined and host.joined.last != "done" for host in evidence
        )
        node = ask_node(pod) if trouble else NodeEvidence()
        found.append(PodEvidence(pod=pod, hosts=evidence, limits=limits, not_launched=reason, node=node))
    return found


def _host(member: Mapping[str, Any], variables: Mapping[str, Any] | None) -> HostEvidence:
    host = HostEvidence(name=member["name"], worker=member["worker"], internal_ip=member["internal_ip"])
    if variables is None:
        return host.model_copy(update={"error": "this play leaves it out"})
    if "__verify_about" not in variables:
        return host.model_copy(update={"unreachable": "lost while it was configured: see what was said of it above"})
    asked = variables.get("__verify_host") or {}
    update: dict[str, Any] = {}
    if asked.get("unreachable"):
        update["unreachable"] = str(asked.get("msg") or "no answer")
    elif asked.get("failed") or "clock" not in asked:
        update["error"] = str(asked.get("msg") or "no answer")
    else:
        update["facts"] = HostFacts.model_validate(asked)
    joined = variables.get("__verify_joined") or {}
    started = variables.get("__verify_started") or {}
    for result in (started, joined):
        if result.get("unreachable"):
            update.setdefault("unreachable", str(result.get("msg") or "no answer"))
    if "phases" in joined:
        update["joined"] = Joined.model_validate(joined)
    elif joined.get("failed") or started.get("failed"):
        update["join_error"] = str(joined.get("msg") or started.get("msg") or "no reason given")
    return host.model_copy(update=update)


def _why_not_launched(hosts: list[HostEvidence]) -> str:
    absent = [host.name for host in hosts if host.facts is None]
    if absent:
        return f"not launched, as {', '.join(absent)} cannot take part and all the others would wait for it"
    without = [host.name for host in hosts if host.facts and "jax" not in host.facts.versions]
    if without:
        return f"not launched, as {', '.join(without)} has no JAX"
    return ""
