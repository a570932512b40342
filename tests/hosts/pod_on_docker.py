"""A pod of four v5e hosts and a bastion on the Docker engine, with metadata, and what tests ask of it."""

from __future__ import annotations

import asyncio
import itertools
import os
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import docker

from rehearsal.emulator.iap import Target, Wanted
from rehearsal.emulator.metadata import Metadata
from rehearsal.emulator.metadata_server import MetadataListeners
from rehearsal.hosts.backend import IAP_RANGE, FirewallRule, HostSpec, SubnetworkSpec
from rehearsal.hosts.docker_hosts import DockerHosts
from rehearsal.hosts.firewall import admits
from rehearsal.hosts.ranges import Use, docker_uses, route_uses

NETWORK = "projects/p/global/networks/net"
SUBNETWORK = "projects/p/regions/us-west4/subnetworks/pods"
ZONE = "us-west4-a"
METADATA_PORT = 8779
TOKEN = "ya29.pod"
SSH = (("tcp", ("22",)),)
RULES = (
    FirewallRule("iap", NETWORK, allowed=SSH, source_ranges=(IAP_RANGE,), target_tags=("bastion",)),
    FirewallRule("jump", NETWORK, allowed=SSH, source_tags=("bastion",), target_tags=("pod",)),
    FirewallRule("members", NETWORK, allowed=(("all", ()),), source_tags=("pod",), target_tags=("pod",)),
)
WORKERS = 4


def free_range() -> str:
    """A /24 that nobody on this machine uses, with room to grow to a /23."""
    api = docker.from_env().api
    uses: list[Use] = [*docker_uses(api.networks(), api.info()), *route_uses()]
    for second, third in itertools.product(range(201, 255), (os.getpid() % 64 * 4, 252)):
        wider = Use(IPv4Network(f"10.{second}.{third}.0/23"), "")
        if not any(wider.network.overlaps(use.network) for use in uses):
            return f"10.{second}.{third}.0/24"
    raise AssertionError("no free range on this machine")


@dataclass
class Pod:
    """The hosts, and what the emulator would keep of them."""

    keys: Path
    jax: Path
    rehearsal: str = field(default_factory=lambda: f"test-{os.getpid()}")
    range: str = field(default_factory=free_range)
    deaths: list[str] = field(default_factory=list)
    guest: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    attributes: dict[str, dict[str, str]] = field(default_factory=dict)
    hosts: DockerHosts = field(init=False)
    listeners: MetadataListeners = field(init=False)

    def ip(self, name: str) -> str:
        """Addresses as the emulator gives them: from the third of the range on."""
        return self.range.replace(".0/24", f".{self.names.index(name) + 2}")

    @property
    def names(self) -> list[str]:
        return ["bastion", *(f"w{index}" for index in range(WORKERS)), "v4"]

    def key(self, name: str) -> str:
        return f"projects/p/zones/{ZONE}/instances/{name}"

    def spec(self, name: str) -> HostSpec:
        generation, chips = {"bastion": (None, 0), "v4": ("v4", 4)}.get(name, ("v5e", 4))
        tags = ("bastion",) if name == "bastion" else ("pod",)
        return HostSpec(self.key(name), name, ZONE, SUBNETWORK, self.ip(name), tags, generation, chips)

    def subnetwork(self, **changed: Any) -> SubnetworkSpec:
        return SubnetworkSpec(**{"name": SUBNETWORK, "network": NETWORK, "ip_cidr_range": self.range, **changed})

    async def make(self) -> None:
        self.hosts = DockerHosts(self.rehearsal, METADATA_PORT, shown={"/opt/jax": self.jax})
        self.hosts.on_death(self._died)
        self.metadata = Metadata(self.view, self.put)
        self.listeners = MetadataListeners(self.metadata, METADATA_PORT)
        for name in self.names:
            self.attributes[self.ip(name)] = self._attributes(name)
        gateway = await self.hosts.prepare_subnetwork(self.subnetwork())
        assert gateway is not None
        await self.listeners.listen(gateway)
        await self.hosts.apply_firewall(RULES)
        await asyncio.gather(*(self.hosts.create(self.spec(name)) for name in self.names[:-1]))

    async def unmake(self) -> None:
        for key in await self.hosts.states():
            await self.hosts.delete(key)
        await self.listeners.close()
        await self.hosts.remove_subnetwork(SUBNETWORK)
        left = await self.hosts.leftovers()
        await self.hosts.close()
        assert left == []

    def view(self, ip: str) -> Mapping[str, object] | None:
        if ip not in self.attributes:
            return None
        name = next(name for name in self.names if self.ip(name) == ip)
        return {
            "instance": {
                "hostname": f"{name}.{ZONE}.c.p.internal",
                "attributes": self.attributes[ip],
                "guest-attributes": self.guest.get(ip, {}),
                "network-interfaces": {"0": {"ip": ip}},
            },
            "project": {"project-id": "p", "attributes": {}},
        }

    def put(self, ip: str, namespace: str, key: str, value: str) -> None:
        self.guest.setdefault(ip, {}).setdefault(namespace, {})[key] = value

    def container(self, name: str) -> str:
        """The container's id."""
        wanted = [f"label=tpuwright.rehearsal={self.rehearsal}", f"label=tpuwright.key={self.key(name)}"]
        filters = list(itertools.chain.from_iterable(("--filter", label) for label in wanted))
        return output(["docker", "ps", "-aq", *filters])

    def run(self, name: str, script: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """A shell script as root, past network and firewall."""
        command = ["docker", "exec", "-i", self.container(name), "bash", "-ec", script]
        return subprocess.run(command, capture_output=True, text=True, check=check)

    def reaches(self, name: str, address: str, port: int) -> bool:
        """Whether a host can open a connection."""
        program = f"import socket; socket.create_connection(('{address}', {port}), 2)"
        return self.run(name, f"python3 -c {shlex.quote(program)}", check=False).returncode == 0

    def ssh_config(self, path: Path, relay: str, user: str = "nixie") -> Path:
        """The way that a user takes: IAP to the bastion, and on; host keys from the guest attributes."""
        known = path.with_name("known_hosts")
        known.write_text(
            "".join(
                f"{name} {kind} {key}\n"
                for name in self.names[:-1]
                for kind, key in self.guest[self.ip(name)]["hostkeys"].items()
            )
        )
        relay_client = f"{sys.executable} -m tpuwright.iap bastion 22 --project p --zone {ZONE} --url {relay}"
        text = f"""
            Host *
              User {user}
              IdentityFile {self.keys / "id_ed25519"}
              IdentitiesOnly yes
              BatchMode yes
              StrictHostKeyChecking yes
              UserKnownHostsFile {known}
            Host bastion
              ProxyCommand {relay_client}
        """
        for name in self.names[1:-1]:
            text += f"    Host {name}\n  HostName {self.ip(name)}\n  HostKeyAlias {name}\n  ProxyJump bastion\n"
        path.write_text(textwrap.dedent(text))
        return path

    def caller(self, token: str) -> str | None:
        return "owner" if token == TOKEN else None

    def permitted(self, _caller: str, _wanted: Wanted) -> bool:
        return True

    def find(self, wanted: Wanted) -> Target | None:
        """As a relay's Directory."""
        if wanted.instance not in self.names:
            return None
        admitted = admits(RULES, NETWORK, self.spec(wanted.instance).tags, IAP_RANGE, wanted.port)
        return Target(self.ip(wanted.instance), admitted)

    async def _died(self, key: str) -> None:
        self.deaths.append(key)

    def _attributes(self, name: str) -> dict[str, str]:
        public = (self.keys / "id_ed25519.pub").read_text().strip()
        attributes = {
            "ssh-keys": f"nixie:{public}",
            "enable-guest-attributes": "TRUE",
            "startup-script": "#!/bin/bash\necho hello from $(id -un)\necho boot >> /root/boots\n",
        }
        if name.startswith("w"):
            workers = [f"unknown:{index}:{self.ip(f'w{index}')}" for index in range(WORKERS)]
            attributes["agent-worker-number"] = name.removeprefix("w")
            attributes["worker-network-endpoints"] = ",".join(workers)
            attributes["accelerator-type"] = "v5litepod-16"
            attributes["tpu-env"] = f"ACCELERATOR_TYPE: 'v5litepod-16'\nZONE: '{ZONE}'\nNODE_ID: 'pod'\n"
        return attributes


def output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def jax_for(image: str, directory: Path) -> Path:
    """A directory with jax[tpu] for the image's Python."""
    version = docker.from_env().containers.run(
        image, ["-c", "python3 --version"], entrypoint=["/bin/sh"], network_mode="none", remove=True
    )
    python = version.decode().split()[1].rpartition(".")[0]
    uv = Path(sys.executable).with_name("uv")
    command = [
        uv,
        "pip",
        "install",
        "-q",
        "--compile-bytecode",
        "--target",
        directory,
        "--python-version",
        python,
        "jax[tpu]",
    ]
    subprocess.run(command, check=True)
    return directory
