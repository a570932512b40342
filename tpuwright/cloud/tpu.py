"""What tpuwright reads from the Cloud TPU API."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tpuwright.cloud.client import call, pages, service
from tpuwright.cloud.hostkeys import HostKey, host_keys

#: States that end by themselves in READY: worth waiting for.
COMING: Final = frozenset({"CREATING", "REPAIRING", "RESTARTING", "STARTING", "REIMAGING", "UNHIDING"})


@dataclass(frozen=True)
class Endpoint:
    """Where one worker is: its internal address and, if it has one, its external address."""

    internal_ip: str
    external_ip: str | None


@dataclass(frozen=True)
class Symptom:
    """Something that went wrong on a node, as the API reports it."""

    type: str
    worker: str
    details: str


@dataclass(frozen=True)
class Node:
    """A TPU node as the API has it now; ``endpoints`` are in the order of the workers."""

    name: str
    state: str
    health: str = ""
    health_description: str = ""
    accelerator_type: str = ""
    endpoints: tuple[Endpoint, ...] = ()
    symptoms: tuple[Symptom, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)


class TpuApi:
    """Reads nodes and catalogues of one project; every method raises ``CloudError``."""

    def __init__(self, project: str, endpoint: str | None = None) -> None:
        """``endpoint`` includes the version path, as the stack's configuration has it."""
        self._project = project
        self._service = service("tpu", endpoint)
        self._locations = self._service.projects().locations()

    def node(self, zone: str, node: str) -> Node:
        """The node ``node`` (its short name) of ``zone``."""
        name = f"{self._zone(zone)}/nodes/{node}"
        answer = call(lambda: self._locations.nodes().get(name=name), f"the state of node {node} in {zone}")
        return _node(answer)

    def nodes(self, zone: str) -> list[Node]:
        """All nodes of ``zone``; "-" means every zone."""
        nodes = self._locations.nodes()
        asked = f"the nodes of {zone}"
        return [
            _node(item) for item in pages(lambda: nodes.list(parent=self._zone(zone)), nodes.list_next, "nodes", asked)
        ]

    def host_keys(self, zone: str, node: str, workers: int) -> list[list[HostKey]]:
        """The ssh host keys that each of ``workers`` workers published, in their order; empty where none yet.

        The answer names no worker: it is trusted to be in their order only when there is one entry for each
        (as gcloud reads it too), else each worker is asked for by number.
        """
        found = self._guest_attributes(zone, node, [])
        if len(found) != workers:
            found = []
            for worker in range(workers):
                one = self._guest_attributes(zone, node, [str(worker)])
                found.append(one[0] if len(one) == 1 else {})
        return [host_keys(entry.get("queryValue", {}).get("items", [])) for entry in found]

    def accelerator_types(self, zone: str) -> list[str]:
        """The accelerator types that ``zone`` offers ("v5litepod-16")."""
        kinds = self._locations.acceleratorTypes()
        asked = f"the accelerator types of {zone}"
        return [
            str(item.get("type") or item["name"].rsplit("/", 1)[-1])
            for item in pages(lambda: kinds.list(parent=self._zone(zone)), kinds.list_next, "acceleratorTypes", asked)
        ]

    def runtime_versions(self, zone: str) -> list[str]:
        """The runtime versions (images) that ``zone`` offers."""
        versions = self._locations.runtimeVersions()
        asked = f"the runtime versions of {zone}"
        return [
            str(item.get("version") or item["name"].rsplit("/", 1)[-1])
            for item in pages(
                lambda: versions.list(parent=self._zone(zone)), versions.list_next, "runtimeVersions", asked
            )
        ]

    def _guest_attributes(self, zone: str, node: str, workers: Sequence[str]) -> list[dict[str, Any]]:
        name = f"{self._zone(zone)}/nodes/{node}"
        body = {"queryPath": "hostkeys/", "workerIds": list(workers)}
        answer = call(
            lambda: self._locations.nodes().getGuestAttributes(name=name, body=body),
            f"the ssh host keys of node {node} in {zone}",
        )
        return list(answer.get("guestAttributes", []))

    def _zone(self, zone: str) -> str:
        return f"projects/{self._project}/locations/{zone}"


def _node(answer: dict[str, Any]) -> Node:
    return Node(
        name=str(answer.get("name", "")).rsplit("/", 1)[-1],
        state=str(answer.get("state", "STATE_UNSPECIFIED")),
        health=str(answer.get("health", "")),
        health_description=str(answer.get("healthDescription", "")),
        accelerator_type=str(answer.get("acceleratorType", "")),
        endpoints=tuple(
            Endpoint(str(item.get("ipAddress", "")), item.get("accessConfig", {}).get("externalIp") or None)
            for item in answer.get("networkEndpoints", [])
        ),
        symptoms=tuple(
            Symptom(str(item.get("symptomType", "")), str(item.get("workerId", "")), str(item.get("details", "")))
            for item in answer.get("symptoms", [])
        ),
        labels=dict(answer.get("labels", {})),
    )
