"""Groups and host variables for Ansible, from a stack's exports and what the API says now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tpuwright.errors import TpuwrightError
from tpuwright.live import Cloud, PodNow
from tpuwright.ssh.plan import Plan, build, control_directory
from tpuwright.ssh.private_file import write_private
from tpuwright.ssh.render import known_hosts, ssh_config
from tpuwright.stack import Stack, open_stack


@dataclass
class Inventory:
    """``hosts``: variables by host name; ``groups``: host names by group, without the group of all hosts."""

    hosts: dict[str, dict[str, Any]] = field(default_factory=dict)
    groups: dict[str, list[str]] = field(default_factory=dict)


def load(start: Path, wait_seconds: float, say: Callable[[str], None], stack: str | None = None) -> Inventory:
    """The inventory of the selected stack (or ``stack``) of the project around ``start``.

    Writes the stack's ssh_config and known_hosts as it goes. ``say`` gets a line for each thing waited for, at most
    ``wait_seconds`` in all. Raises ``TpuwrightError``: one sentence.
    """
    chosen = open_stack(stack, start)
    outputs = chosen.outputs
    now = Cloud(outputs).wait(wait_seconds, say)
    plan = build(chosen.name, outputs, now, chosen.project)
    if plan.left_out:
        raise TpuwrightError(f"{', '.join(plan.left_out)} published no ssh host keys: wait with `tpuwright wait`.")
    config = write_ssh_files(chosen, plan)
    inventory = Inventory()
    for pod in now.pods.values():
        _add_pod(inventory, chosen, pod, plan, config)
    return inventory


def write_ssh_files(stack: Stack, plan: Plan) -> Path:
    """Write ssh_config and known_hosts to the stack's state directory; the path of the former."""
    directory = stack.state_directory
    hosts = directory / "known_hosts"
    write_private(hosts, known_hosts(plan))
    config = directory / "ssh_config"
    write_private(config, ssh_config(plan, hosts, match_addresses=True, share=False))
    control_directory().mkdir(mode=0o700, parents=True, exist_ok=True)
    return config


def _add_pod(inventory: Inventory, stack: Stack, now: PodNow, plan: Plan, config: Path) -> None:
    outputs = stack.outputs
    pod = now.pod.model_dump(mode="json")
    members = [{"name": host.name, "worker": host.worker, "internal_ip": host.internal_ip} for host in now.hosts]
    digests = {alias: target.keys_digest for target in plan.targets for alias in target.aliases}
    for host in now.hosts:
        variables: dict[str, Any] = {
            "ansible_host": host.internal_ip if outputs.access.bastion else host.external_ip or host.internal_ip,
            "ansible_user": plan.user,
            # A socket of its own for each host that was made: a connection to a replaced host is never reused.
            "ansible_control_path_dir": str(control_directory() / digests[host.name]),
            "ansible_ssh_common_args": f'-F "{config}"',
            "tpuwright_pod": pod,
            "tpuwright_worker": host.worker,
            "tpuwright_members": members,
            "tpuwright_users": [{"name": user.name, "keys": list(user.keys)} for user in outputs.access.users],
            "tpuwright_packages": outputs.cloud.packages.model_dump(mode="json", exclude_none=True),
            "tpuwright_node_state": now.state,
            "tpuwright_stack": stack.name,
            "tpuwright_state_dir": str(stack.state_directory),
        }
        inventory.hosts[host.name] = variables
        group = f"pod_{now.pod.name.replace('-', '_')}"
        for name in ("tpu_hosts", group, f"worker_{host.worker}"):
            inventory.groups.setdefault(name, []).append(host.name)
