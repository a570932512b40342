"""Ansible module: the members of a pod know each other's host keys and let each other's users in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: pod_trust
short_description: Known hosts, host aliases and users' keys among the members of a pod
description:
  - Writes /etc/ssh/ssh_known_hosts, /etc/ssh/ssh_config.d/tpuwright.conf and /etc/ssh/tpuwright/pod_keys/USER.
  - What it learns is kept (public halves only) in /var/lib/tpuwright/identities.json, so that a run that reaches only
    some of the members (--limit, or a dead host) keeps what is known of the others.
options:
  members: {type: list, elements: dict, required: true, description: "{name, worker, internal_ip} of every member."}
  identities: {type: dict, required: true, description: "Member to {users, host_keys}, for those reached in this run."}
  users: {type: list, elements: str, required: true}
  pod: {type: str, required: true}
attributes: {check_mode: {support: full}}
"""

STATE = "var/lib/tpuwright/identities.json"
KNOWN_HOSTS = "etc/ssh/ssh_known_hosts"
CLIENT = "etc/ssh/ssh_config.d/tpuwright.conf"
POD_KEYS = "etc/ssh/tpuwright/pod_keys"
MARK = "# tpuwright: the hosts of this pod; written by the role pod_ssh"


def label(pod: str, name: str) -> str:
    """A member's short name: pod-w3 is w3, pod-s1-w0 is s1-w0."""
    return name.removeprefix(f"{pod}-")


def known_hosts(pod: str, members: list[dict[str, Any]], identities: dict[str, Any], before: str) -> str:
    """The known-hosts file: lines of others as they are, then our own block, a line for each host key."""
    others = before.partition(MARK)[0]
    lines = [
        f"{member['name']},{label(pod, member['name'])},{member['internal_ip']} {key}"
        for member in members
        for key in identities.get(member["name"], {}).get("host_keys", [])
    ]
    return others + "\n".join([MARK, *lines]) + "\n"


def client_settings(pod: str, members: list[dict[str, Any]]) -> str:
    """ssh_config for the members, by name, short name and address."""
    names = " ".join(f"{m['name']} {label(pod, m['name'])} {m['internal_ip']}" for m in members)
    blocks = [
        f"Host {member['name']} {label(pod, member['name'])}\n    HostName {member['internal_ip']}\n"
        f"    HostKeyAlias {member['name']}\n"
        for member in members
    ]
    # curve25519 costs a login 16 ms of CPU, the hybrid that newer clients prefer 120 ms
    shared = f"Host {names}\n    StrictHostKeyChecking yes\n    KexAlgorithms ^curve25519-sha256\n    ForwardAgent no\n"
    return "\n".join([MARK + "\n", *blocks, shared])


def user_keys(user: str, members: list[dict[str, Any]], identities: dict[str, Any]) -> str:
    """authorized_keys for `user`: his key on each member, good only when it comes from a member's address."""
    addresses = ",".join(member["internal_ip"] for member in members)
    keys = (identities.get(member["name"], {}).get("users", {}).get(user) for member in members)
    return "".join(f'from="{addresses}" {key}\n' for key in keys if key)


def merged(members: list[dict[str, Any]], stored: dict[str, Any], fresh: dict[str, Any]) -> dict[str, Any]:
    """What is known of each member: from this run if it was reached, else from before; nothing of who left the pod."""
    result = {}
    for name in sorted(member["name"] for member in members):
        old, new = stored.get(name, {}), fresh.get(name, {})
        if old or new:
            result[name] = {
                "host_keys": new.get("host_keys") or old.get("host_keys", []),
                "users": {**({} if new.get("users") else old.get("users", {})), **new.get("users", {})},
            }
    return result


def wanted_files(root: Path, parameters: dict[str, Any]) -> dict[str, str]:
    """Path below `root` to content of every file that this module owns."""
    pod, members = parameters["pod"], parameters["members"]
    identities = merged(members, _load(root / STATE), parameters["identities"])
    files = {
        STATE: json.dumps(identities, indent=2, sort_keys=True) + "\n",
        KNOWN_HOSTS: known_hosts(pod, members, identities, _read(root / KNOWN_HOSTS)),
        CLIENT: client_settings(pod, members),
    }
    return files | {f"{POD_KEYS}/{user}": user_keys(user, members, identities) for user in parameters["users"]}


def _read(path: Path) -> str:
    return path.read_text() if path.is_file() else ""


def _load(path: Path) -> dict[str, Any]:
    try:
        stored: dict[str, Any] = json.loads(_read(path) or "{}")
    except ValueError:  # cut short by a power loss: everything in it can be gathered again
        return {}
    return stored


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "members": {"type": "list", "elements": "dict", "required": True},
            "identities": {"type": "dict", "required": True},
            "users": {"type": "list", "elements": "str", "required": True},
            "pod": {"type": "str", "required": True},
        },
        supports_check_mode=True,
    )
    root = Path("/")
    wanted = wanted_files(root, module.params)
    stale = sorted(name for name, content in wanted.items() if _read(root / name) != content)
    users = set(module.params["users"])
    surplus = sorted(path for path in (root / POD_KEYS).glob("*") if path.name not in users)
    # in check mode a key that would be made in this run is not known yet, and will change these files
    coming = module.check_mode and any(set(i.get("users", {})) < users for i in module.params["identities"].values())
    if not module.check_mode:
        for name in stale:
            _write(root / name, wanted[name])
        for path in surplus:
            path.unlink()
    module.exit_json(changed=bool(stale or surplus or coming), written=stale, removed=[str(path) for path in surplus])


def _write(path: Path, content: str) -> None:
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(content)
    partial.chmod(0o644)
    partial.replace(path)


if __name__ == "__main__":
    main()
