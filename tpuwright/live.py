"""The pods of a stack as the API has them now: states, addresses, published ssh host keys; and waiting for them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tpuwright.cloud.compute import ComputeApi
from tpuwright.cloud.errors import CloudError
from tpuwright.cloud.hostkeys import HostKey
from tpuwright.cloud.tpu import COMING, Node, TpuApi
from tpuwright.errors import TpuwrightError
from tpuwright.outputs import HostOutput, PodOutput, StackOutputs

_POLL_SECONDS: Final = 2.0


class NotReady(TpuwrightError):
    """A pod or host cannot be used now: one sentence that names it, its state and what to do."""


@dataclass(frozen=True)
class HostNow:
    """One host: its exported name and worker, and today's addresses and host keys (empty while not published)."""

    name: str
    worker: int
    internal_ip: str
    external_ip: str | None
    keys: tuple[HostKey, ...]


@dataclass(frozen=True)
class PodNow:
    """One pod: what the stack exported, the state of its nodes (the least ready one's), its hosts."""

    pod: PodOutput
    state: str
    hosts: tuple[HostNow, ...]


@dataclass(frozen=True)
class StackNow:
    """All pods of a stack by name, and the bastion's host keys (empty in direct mode or while not published)."""

    pods: dict[str, PodNow]
    bastion_keys: tuple[HostKey, ...] = ()


class Cloud:
    """Asks the APIs that the stack's exports name."""

    def __init__(self, outputs: StackOutputs) -> None:
        """Builds the clients; nothing is sent yet, but credentials must be there (``CloudError``)."""
        self._outputs = outputs
        self.tpu = TpuApi(outputs.cloud.project, outputs.cloud.tpu_endpoint)
        self.compute = ComputeApi(outputs.cloud.project, outputs.cloud.compute_endpoint)

    def nodes(self, pod: PodOutput) -> list[Node]:
        """The pod's nodes, one for each slice; raises ``NotReady`` when one does not exist."""
        found = []
        for name in node_names(pod):
            try:
                found.append(self.tpu.node(pod.zone, name))
            except CloudError as error:
                if error.kind != "not_found":
                    raise
                raise NotReady(
                    f"Pod {pod.name} is gone: its node {name} in {pod.zone} was deleted outside of Pulumi; run "
                    "`pulumi refresh`, then `pulumi up`, which makes it again."
                ) from error
        return found

    def wait(
        self,
        seconds: float,
        say: Callable[[str], None],
        pods: list[str] | None = None,
        poll: float = _POLL_SECONDS,
        partial: bool = False,
    ) -> StackNow:
        """The pods (all, or those named) once every one is READY with its host keys published.

        Waits at most ``seconds``, and says what for each time that it changes. Raises ``NotReady`` at once for a
        state that does not lead to READY, and at the end of the time; with ``partial``, host keys that are lacking
        at the end of the time are no error.
        """
        end = time.monotonic() + seconds
        said = ""
        while True:
            now, lacking = self._look(pods)
            if not lacking:
                return now
            if time.monotonic() + poll > end:
                if partial and "host keys" in lacking:
                    return now
                raise NotReady(f"{lacking}: this was waited for {seconds:.0f} s; {_what_to_do(lacking)}")
            if lacking != said:
                say(f"{lacking}: waiting (at most {max(0, end - time.monotonic()):.0f} s more)")
                said = lacking
            time.sleep(poll)

    def _look(self, only: list[str] | None) -> tuple[StackNow, str]:
        """What is there, and what is lacking in words ("" when nothing is)."""
        pods: dict[str, PodNow] = {}
        lacking = ""
        for name, pod in self._outputs.pods.items():
            if only is not None and name not in only:
                continue
            pods[name], missing = self._pod(pod)
            lacking = lacking or missing
        keys: tuple[HostKey, ...] = ()
        bastion = self._outputs.access.bastion
        if bastion:
            keys = tuple(self.compute.host_keys(bastion.zone, bastion.name))
            if not keys:
                lacking = lacking or f"The bastion {bastion.name} has not published its ssh host keys"
        return StackNow(pods, keys), lacking

    def _pod(self, pod: PodOutput) -> tuple[PodNow, str]:
        nodes = self.nodes(pod)
        worst = next((node for node in nodes if node.state != "READY"), nodes[0])
        if worst.state in COMING:
            return PodNow(pod, worst.state, ()), f"Pod {pod.name} is {worst.state}"
        if worst.state != "READY":
            raise NotReady(_not_coming(pod, worst))
        hosts: list[HostNow] = []
        for number, node in enumerate(nodes):
            expected = [host for host in pod.hosts if host.slice in (None, number)]
            hosts += self._hosts(pod, node, expected)
        silent = [host.name for host in hosts if not host.keys]
        missing = (
            f"{', '.join(silent)} of pod {pod.name} ha{'s' if len(silent) == 1 else 've'} not published ssh host keys"
        )
        return PodNow(pod, worst.state, tuple(hosts)), missing if silent else ""

    def _hosts(self, pod: PodOutput, node: Node, expected: list[HostOutput]) -> list[HostNow]:
        if len(node.endpoints) != len(expected):
            raise NotReady(
                f"Pod {pod.name} has {len(node.endpoints)} hosts, but the stack was created with {len(expected)}: "
                "run `pulumi refresh`, then `pulumi up`."
            )
        keys = self.tpu.host_keys(pod.zone, node.name, len(expected))
        return [
            HostNow(host.name, host.worker, there.internal_ip, there.external_ip, tuple(found))
            for host, there, found in zip(expected, node.endpoints, keys, strict=True)
        ]


def node_names(pod: PodOutput) -> list[str]:
    """The ids in the TPU API of the pod's nodes, by slice."""
    return [pod.node] if pod.slices == 1 else [f"{pod.node}-{number}" for number in range(pod.slices)]


def _what_to_do(lacking: str) -> str:
    if "host keys" in lacking:
        return (
            "a host publishes them at boot when its metadata has enable-guest-attributes=TRUE and the organisation's "
            "policy compute.disableGuestAttributesAccess does not forbid it; check both, or wait with `tpuwright wait`."
        )
    return "wait longer with `tpuwright wait`, then run this again."


def _not_coming(pod: PodOutput, node: Node) -> str:
    about = f" ({node.health_description})" if node.health_description else ""
    where = f"{pod.node} --zone {pod.zone}"
    advice = {
        "PREEMPTED": "its spot capacity was taken back; run `pulumi up`, which replaces it, then site.yml again",
        "TERMINATED": "Google ended it; run `pulumi up`, which replaces it, then site.yml again",
        "STOPPING": f"once it is STOPPED, start it with `gcloud compute tpus tpu-vm start {where}`",
        "STOPPED": f"start it with `gcloud compute tpus tpu-vm start {where}`, then run this again",
        "DELETING": "it is being deleted; when that is done run `pulumi refresh`, then `pulumi up`",
    }.get(
        node.state, "this does not end by itself; replace it with `pulumi up --replace` and its URN (`pulumi stack -u`)"
    )
    return f"Pod {pod.name} is {node.state}{about}: {advice}."
