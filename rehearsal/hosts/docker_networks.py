"""A Docker network for each subnetwork. Synchronous: the backend calls it in threads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import docker
from docker.errors import APIError, NotFound
from docker.types import IPAMConfig, IPAMPool

from rehearsal.hosts import labels
from rehearsal.hosts.backend import HostsError, SubnetworkSpec
from rehearsal.hosts.ranges import check_free, docker_uses, route_uses


@dataclass(frozen=True)
class Subnetwork:
    """A subnetwork as the engine has it. `gateway` is the machine's address in it."""

    spec: SubnetworkSpec
    docker_name: str
    gateway: str


class DockerNetworks:
    """The subnetworks of one rehearsal."""

    def __init__(self, client: docker.DockerClient, rehearsal: str) -> None:
        self._api: Any = client.api
        self._rehearsal = rehearsal

    def all(self) -> dict[str, Subnetwork]:
        """Every subnetwork by name."""
        found = (_from_engine(network) for network in self._api.networks(filters=labels.query(self._rehearsal)))
        return {subnetwork.spec.name: subnetwork for subnetwork in found}

    def prepare(self, spec: SubnetworkSpec) -> Subnetwork:
        """Make it, or widen it to `spec`'s range. Raises RangeCollision before anything is changed."""
        existing = self.all().get(spec.name)
        if existing is not None and existing.spec.ip_cidr_range == spec.ip_cidr_range:
            return replace(existing, spec=spec)
        others = [
            network for network in self._api.networks() if existing is None or network["Name"] != existing.docker_name
        ]
        routes = route_uses()
        if existing is not None:
            own = IPv4Network(existing.spec.ip_cidr_range)
            routes = (use for use in routes if use.network != own)
        check_free(spec.name, spec.ip_cidr_range, [*docker_uses(others, self._api.info()), *routes])
        if existing is None:
            return self._create(spec, None)
        return self._widen(existing, spec)

    def remove(self, name: str) -> None:
        """Remove it. Raises HostsError while hosts are in it."""
        existing = self.all().get(name)
        if existing is None:
            return
        try:
            self._api.remove_network(existing.docker_name)
        except NotFound:
            return
        except APIError as error:
            raise HostsError(
                f"Docker network {existing.docker_name} of subnetwork {name} cannot be removed "
                f"({error.explanation}): remove the containers in it first."
            ) from error

    def _create(self, spec: SubnetworkSpec, gateway: str | None) -> Subnetwork:
        gateway = gateway or str(IPv4Address(int(IPv4Network(spec.ip_cidr_range).network_address) + 1))
        name = labels.network_name(self._rehearsal, spec)
        try:
            self._api.create_network(
                name,
                driver="bridge",
                ipam=IPAMConfig(pool_configs=[IPAMPool(subnet=spec.ip_cidr_range, gateway=gateway)]),
                labels=labels.of_subnetwork(self._rehearsal, spec),
                check_duplicate=True,
            )
        except APIError as error:
            raise HostsError(f"Docker refuses a network for subnetwork {spec.name}: {error.explanation}.") from error
        return Subnetwork(spec, name, gateway)

    def _widen(self, existing: Subnetwork, spec: SubnetworkSpec) -> Subnetwork:
        """Docker cannot change a network's range: it is made anew, and its hosts are plugged in where they were."""
        attached = self._api.inspect_network(existing.docker_name)["Containers"]
        for container in attached:
            self._api.disconnect_container_from_network(container, existing.docker_name, force=True)
        self._api.remove_network(existing.docker_name)
        keep = existing.gateway if IPv4Address(existing.gateway) in IPv4Network(spec.ip_cidr_range) else None
        widened = self._create(spec, keep)
        for container in attached:
            host = labels.host_of(self._api.inspect_container(container)["Config"]["Labels"])
            self._api.connect_container_to_network(
                container, widened.docker_name, ipv4_address=host.ip, aliases=[host.hostname]
            )
        return widened


def _from_engine(network: dict[str, Any]) -> Subnetwork:
    config = network["IPAM"]["Config"][0]
    return Subnetwork(labels.subnetwork_of(network["Labels"]), network["Name"], config["Gateway"])
