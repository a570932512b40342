"""A container for each host. Synchronous: the backend calls it in threads."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
from docker.errors import APIError, ImageNotFound, NotFound
from docker.types import EndpointConfig

from rehearsal.hosts import labels
from rehearsal.hosts.backend import HostsError, HostSpec, HostState, ImageMissing
from rehearsal.hosts.docker_networks import Subnetwork
from tpuwright.accelerators import GENERATIONS

STOP_SECONDS = 5
"""How long a host may take to shut down before its power is cut."""
_RULES_DIRECTORY = "/usr/lib/tpuwright-host"
_LOAD_RULES = f"""
set -e
cd {_RULES_DIRECTORY}
printf %s "$RULES" > vpc.rules.new
iptables-restore --noflush --wait 10 < vpc.rules.new
mv vpc.rules.new vpc.rules
"""


@dataclass(frozen=True)
class Container:
    """A host as the engine has it."""

    id: str
    name: str
    spec: HostSpec
    state: HostState


class DockerContainers:
    """The hosts of one rehearsal."""

    def __init__(
        self, client: docker.DockerClient, rehearsal: str, image: str, metadata_port: int, shown: Mapping[str, Path]
    ) -> None:
        self._api: Any = client.api
        self._rehearsal = rehearsal
        self._image = image
        self._metadata_port = metadata_port
        self._shown = shown

    def all(self) -> dict[str, Container]:
        """Every host by key."""
        listed = self._api.containers(all=True, filters=labels.query(self._rehearsal))
        return {found.spec.key: found for found in map(_from_engine, listed)}

    def get(self, key: str) -> Container | None:
        """One host, or None."""
        listed = self._api.containers(all=True, filters=labels.query(self._rehearsal, key=key))
        if not listed:
            return None
        try:
            inspected = self._api.inspect_container(listed[0]["Id"])
        except NotFound:
            return None
        # A listing may lag behind: it still says "running" when the event of the death is out.
        return _from_engine({**listed[0], "State": inspected["State"]["Status"], "Names": [inspected["Name"]]})

    def create(self, spec: HostSpec, subnetwork: Subnetwork, rules: str) -> Container:
        """Make the host, not yet running, with the firewall that it starts with. Raises HostsError."""
        name = labels.container_name(self._rehearsal, spec)
        try:
            made = self._api.create_container(
                self._image,
                name=name,
                hostname=spec.hostname,
                environment=self._environment(spec, subnetwork.gateway),
                labels=labels.of_host(self._rehearsal, spec),
                host_config=self._host_config(subnetwork.docker_name),
                networking_config={
                    "EndpointsConfig": {
                        subnetwork.docker_name: EndpointConfig(
                            self._api.api_version, ipv4_address=spec.ip, aliases=_dns_names(spec)
                        )
                    }
                },
            )
        except ImageNotFound as error:
            raise ImageMissing(
                f"The host image {self._image} has not been built: run `make setup` "
                "(or `python -m rehearsal.hosts.image`)."
            ) from error
        except APIError as error:
            raise HostsError(f"Docker refuses to make host {spec.key}: {error.explanation}.") from error
        self._api.put_archive(made["Id"], _RULES_DIRECTORY, _archive("vpc.rules", rules))
        return Container(made["Id"], name, spec, HostState.DEAD)

    def start(self, container: Container) -> None:
        """Let the host run. Raises HostsError."""
        try:
            self._unmark(container)
            self._api.start(container.id)
        except APIError as error:
            raise HostsError(f"Docker cannot start host {container.spec.key}: {error.explanation}.") from error

    def stop(self, container: Container) -> None:
        """Shut the host down, and mark that this was asked for."""
        with _gone_is_fine():
            if not container.name.endswith(labels.STOPPED_SUFFIX):
                self._api.rename(container.id, container.name + labels.STOPPED_SUFFIX)
            self._api.stop(container.id, timeout=STOP_SECONDS)

    def restart(self, container: Container) -> None:
        """Shut the host down and start it again. Raises HostsError."""
        try:
            self._unmark(container)
            self._api.restart(container.id, timeout=STOP_SECONDS)
        except APIError as error:
            raise HostsError(f"Docker cannot restart host {container.spec.key}: {error.explanation}.") from error

    def kill(self, container: Container) -> None:
        """Cut the host's power."""
        if container.state is HostState.RUNNING:
            with _gone_is_fine():
                self._api.kill(container.id)

    def remove(self, container: Container) -> None:
        """Remove the host and its disk."""
        with _gone_is_fine():
            self._api.remove_container(container.id, v=True, force=True)

    def load_rules(self, container: Container, rules: str) -> None:
        """Replace the firewall of a running host, all at once, and keep it for its next boot. Raises HostsError."""
        try:
            run = self._api.exec_create(container.id, ["sh", "-c", _LOAD_RULES], environment={"RULES": rules})
            output = self._api.exec_start(run["Id"])
            status = self._api.exec_inspect(run["Id"])["ExitCode"]
        except APIError as error:
            raise HostsError(f"Host {container.spec.key} took no firewall rules: {error.explanation}.") from error
        if status not in (0, None):
            reason = output.decode(errors="replace").strip()
            raise HostsError(f"Host {container.spec.key} refused its firewall rules: {reason}.")

    def _environment(self, spec: HostSpec, gateway: str) -> dict[str, str]:
        environment = {"TPUWRIGHT_METADATA": f"{gateway}:{self._metadata_port}"}
        for generation in GENERATIONS:
            if generation.name == spec.generation and spec.chips:
                environment["TPUWRIGHT_PCI"] = generation.pci_device_id
                environment["TPUWRIGHT_CHIPS"] = str(spec.chips)
                environment["TPUWRIGHT_DEVICES"] = generation.device_nodes
        return environment

    def _host_config(self, docker_network: str) -> Any:
        # Enough for systemd and iptables; --privileged would fail where the machine lacks CAP_SYS_RESOURCE.
        return self._api.create_host_config(
            network_mode=docker_network,
            cap_add=["ALL"],
            cap_drop=["SYS_RESOURCE"],
            security_opt=["seccomp=unconfined", "apparmor=unconfined"],
            cgroupns="host",
            tmpfs={"/run": "", "/run/lock": ""},
            binds=["/sys/fs/cgroup:/sys/fs/cgroup:rw", *(f"{here}:{there}:ro" for there, here in self._shown.items())],
            extra_hosts={"metadata.google.internal": "169.254.169.254", "metadata": "169.254.169.254"},
            shm_size="2g",
        )

    def _unmark(self, container: Container) -> None:
        if container.name.endswith(labels.STOPPED_SUFFIX):
            self._api.rename(container.id, container.name.removesuffix(labels.STOPPED_SUFFIX))


def _dns_names(spec: HostSpec) -> list[str]:
    """As Google's zonal DNS has them: the short name, and the one below the project's zone."""
    project = spec.key.split("/")[1] if spec.key.startswith("projects/") else "project"
    return [spec.hostname, f"{spec.hostname}.{spec.zone}.c.{project}.internal"]


def _from_engine(listed: dict[str, Any]) -> Container:
    name = listed["Names"][0].lstrip("/")
    if listed["State"] in ("running", "paused", "restarting"):
        state = HostState.RUNNING
    else:
        state = HostState.STOPPED if name.endswith(labels.STOPPED_SUFFIX) else HostState.DEAD
    return Container(listed["Id"], name, labels.host_of(listed["Labels"]), state)


def _archive(name: str, content: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(content.encode())
        archive.addfile(entry, io.BytesIO(content.encode()))
    return buffer.getvalue()


def _gone_is_fine() -> suppress:
    return suppress(NotFound)
