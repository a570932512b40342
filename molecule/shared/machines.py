"""Hosts for a Molecule scenario, made by the rehearsal's own machinery.

`machines.py create SCENARIO DIRECTORY COUNT`, `machines.py destroy SCENARIO DIRECTORY`.

create leaves in DIRECTORY an inventory as the stack's plugin would give it, a key and the hosts' known keys.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import docker
import yaml
from docker.models.containers import Container

from rehearsal.hosts import labels
from rehearsal.hosts.backend import IAP_RANGE, FirewallRule, HostSpec, RangeCollision, SubnetworkSpec
from rehearsal.hosts.docker_hosts import DockerHosts
from rehearsal.hosts.image.build import build

NETWORK = "projects/molecule/global/networks/net"
SUBNETWORK = "projects/molecule/regions/here/subnetworks/net"
LOGIN = "ada"
GROUP_VARS = Path(__file__).resolve().parents[2] / "inventories" / "pod" / "group_vars"
# No metadata server stands behind these hosts: the guest agent waits for one, and accounts are made here.
NO_METADATA = 9
BOOT_SECONDS = 60


async def prepare(hosts: DockerHosts) -> str:
    """Makes the network in the first free range; returns the range's first three numbers with their dots."""
    for third in range(0, 250, 10):
        start = f"10.253.{third}."
        try:
            await hosts.prepare_subnetwork(SubnetworkSpec(SUBNETWORK, NETWORK, f"{start}0/24", nat=True))
        except RangeCollision:
            continue
        return start
    raise SystemExit("Every range from 10.253.0.0/24 to 10.253.240.0/24 is in use on this machine.")


async def create(scenario: str, directory: Path, count: int) -> None:
    """`count` hosts with sshd and the login, and what Ansible needs to reach them."""
    directory.mkdir(parents=True, exist_ok=True)
    client = docker.from_env()
    build(client, print)
    key = make_key(directory)
    hosts = DockerHosts(f"molecule-{scenario}", NO_METADATA)
    start = await prepare(hosts)
    rules = [  # to the hosts' firewall this machine is IAP's relay
        FirewallRule("ssh", NETWORK, allowed=(("tcp", ("22",)),), source_ranges=(IAP_RANGE,)),
        FirewallRule("members", NETWORK, allowed=(("all", ()),), source_tags=("pod",), target_tags=("pod",)),
    ]
    await hosts.apply_firewall(rules)
    specs = [
        HostSpec(
            f"molecule/{worker}", f"pod-w{worker}", "here-a", SUBNETWORK, f"{start}{10 + worker}", ("pod",), "v5e", 4
        )
        for worker in range(count)
    ]
    await asyncio.gather(*(hosts.create(spec) for spec in specs))
    await hosts.close()
    known = ""
    for spec in specs:
        container = client.containers.get(labels.container_name(f"molecule-{scenario}", spec))
        known += f"{spec.ip} {open_door(container, key)}\n"
    (directory / "known_hosts").write_text(known)
    (directory / "ssh_config").write_text(
        f"Host *\n    User {LOGIN}\n    IdentityFile {directory}/id_ed25519\n    StrictHostKeyChecking yes\n"
        f"    UserKnownHostsFile {directory}/known_hosts\n    HashKnownHosts no\n    ControlMaster auto\n"
        f"    ControlPath {directory}/%h\n    ControlPersist 60\n"
    )
    write_inventory(directory, specs, key)


def make_key(directory: Path) -> str:
    """A key pair for this scenario; returns the public half."""
    private = directory / "id_ed25519"
    if not private.exists():
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "molecule", "-f", private], check=True)
    return private.with_suffix(".pub").read_text().strip()


def open_door(container: Container, key: str) -> str:
    """What the guest agent would do: the login with its key. Returns the host's public key, read past the network."""
    script = f"""set -e
        for _ in $(seq {BOOT_SECONDS * 5}); do systemctl -q is-active ssh 2>/dev/null && break; sleep 0.2; done
        systemctl -q is-active ssh
        id {LOGIN} >/dev/null 2>&1 || useradd --create-home --shell /bin/bash --groups google-sudoers {LOGIN}
        install -d -m 0700 -o {LOGIN} -g {LOGIN} ~{LOGIN}/.ssh
        printf '# Added by Google\\n%s\\n' "$KEY" > ~{LOGIN}/.ssh/authorized_keys
        chown {LOGIN}:{LOGIN} ~{LOGIN}/.ssh/authorized_keys
        cut -d' ' -f1,2 /etc/ssh/ssh_host_ed25519_key.pub"""
    status, output = container.exec_run(["bash", "-c", script], environment={"KEY": key})
    if status:
        raise SystemExit(f"{container.name} did not come up: {output.decode(errors='replace')}")
    return str(output.decode().strip())


def write_inventory(directory: Path, specs: list[HostSpec], key: str) -> None:
    """hosts.yml with the variables of the stack's inventory plugin, beside the project's own group_vars."""
    inventory = directory / "inventory"
    inventory.mkdir(exist_ok=True)
    members = [{"name": spec.hostname, "worker": worker, "internal_ip": spec.ip} for worker, spec in enumerate(specs)]
    pod = {
        "name": "pod",
        "node": "pod",
        "zone": "here-a",
        "accelerator_type": f"v5litepod-{4 * len(specs)}",
        "runtime_version": "v2-alpha-tpuv5-lite",
        "provisioning_model": "standard",
        "generation": "v5e",
        "topology": "2x2",
        "chips": 4 * len(specs),
        "chips_per_host": 4,
        "devices": 4 * len(specs),
        "slices": 1,
        "jax_environment": {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=4"},
        "hosts": members,
    }
    shared: dict[str, Any] = {
        "ansible_user": LOGIN,
        "ansible_ssh_private_key_file": str(directory / "id_ed25519"),
        "ansible_ssh_common_args": f"-o UserKnownHostsFile={directory}/known_hosts -o StrictHostKeyChecking=yes",
        "tpuwright_pod": pod,
        "tpuwright_members": members,
        "tpuwright_users": [{"name": LOGIN, "keys": [key]}, {"name": "grace", "keys": []}],
        "tpuwright_packages": packages(),
    }
    hosts = {
        member["name"]: {"ansible_host": member["internal_ip"], "tpuwright_worker": member["worker"]}
        for member in members
    }
    content = {"all": {"children": {"tpu_hosts": {"hosts": hosts, "vars": shared}}}}
    (inventory / "hosts.yml").write_text(yaml.safe_dump(content, sort_keys=False))
    link = inventory / "group_vars"
    link.unlink(missing_ok=True)
    link.symlink_to(GROUP_VARS)


def packages() -> dict[str, str]:
    """This machine's own way to packages."""
    found = {
        "ca_bundle": os.environ.get("SSL_CERT_FILE", ""),
        "pip_index_url": os.environ.get("PIP_INDEX_URL", ""),
        **{name: os.environ.get(name, "") for name in ("http_proxy", "https_proxy", "no_proxy")},
    }
    return {name: value for name, value in found.items() if value}


async def destroy(scenario: str, directory: Path) -> None:
    """Everything of the scenario, whatever is there."""
    hosts = DockerHosts(f"molecule-{scenario}", NO_METADATA)
    await asyncio.gather(*(hosts.delete(key) for key in await hosts.states()))
    await hosts.remove_subnetwork(SUBNETWORK)
    left = await hosts.leftovers()
    await hosts.close()
    shutil.rmtree(directory, ignore_errors=True)
    if left:
        raise SystemExit(f"Still there: {', '.join(left)}.")


def main() -> None:
    verb, scenario, directory = sys.argv[1:4]
    if verb == "create":
        asyncio.run(create(scenario, Path(directory), int(sys.argv[4])))
    else:
        asyncio.run(destroy(scenario, Path(directory)))


if __name__ == "__main__":
    main()
