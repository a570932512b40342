"""The text of ssh_config and known_hosts. Nothing is trusted that the API has not published."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tpuwright.ssh.plan import Plan, Target, control_directory

#: First choices that cost least: 16 ms of CPU for a login instead of 120 ms; whatever else both know stays allowed.
_CRYPTOGRAPHY: Final = "KexAlgorithms ^curve25519-sha256,curve25519-sha256@libssh.org"


def ssh_config(plan: Plan, known_hosts: Path, *, match_addresses: bool, share: bool) -> str:
    """The configuration of all machines of ``plan``.

    ``match_addresses``: entries answer to the address too, as Ansible connects by address. ``share``: later
    connections to a host go through the first one (Ansible does that itself).
    """
    lines = [
        f"# Written by tpuwright for stack {plan.stack}, and written anew when it changes: changes made here are lost.",
    ]
    for target in plan.targets:
        lines += ["", *_host(plan, target, known_hosts, match_addresses=match_addresses, share=share)]
    return "\n".join(lines) + "\n"


def known_hosts(plan: Plan) -> str:
    """One line for each published host key, under the machine's own alias, so that a reused address never clashes."""
    lines = [f"{target.key_alias} {key.algorithm} {key.key}" for target in plan.targets for key in target.keys]
    return "".join(f"{line}\n" for line in lines)


def _host(plan: Plan, target: Target, known: Path, *, match_addresses: bool, share: bool) -> list[str]:
    names = list(target.aliases)
    if match_addresses and target.proxy_command is None:
        names.append(target.address)
    options = [
        f"HostName {target.address}",
        f"User {plan.user}",
        f"HostKeyAlias {target.key_alias}",
        f"UserKnownHostsFile {_quoted(known)}",
        "GlobalKnownHostsFile /dev/null",
        "StrictHostKeyChecking yes",
        "UpdateHostKeys no",
        _CRYPTOGRAPHY,
        "ConnectTimeout 15",
        "ServerAliveInterval 15",
        "ServerAliveCountMax 3",
    ]
    options += [f"IdentityFile {_quoted(path)}" for path in plan.identities]
    if plan.identities:
        options.append("IdentitiesOnly yes")
    if target.proxy_command:
        options.append(f"ProxyCommand {target.proxy_command}")
    if target.jump:
        options.append(f"ProxyJump {target.jump}")
    # The bastion's connection is always shared: one tunnel for all hosts.
    if share or target.proxy_command:
        socket = control_directory() / f"{target.keys_digest}-%C"
        options += ["ControlMaster auto", f"ControlPath {_quoted(socket)}", "ControlPersist 60"]
    options += [f"LocalForward 127.0.0.1:{forward.local} 127.0.0.1:{forward.remote}" for forward in target.forwards]
    if target.forwards:
        options.append("ExitOnForwardFailure no")
    return [f"Host {' '.join(names)}", *(f"    {option}" for option in options)]


def _quoted(path: Path) -> str:
    return f'"{path}"' if any(character.isspace() for character in str(path)) else str(path)
