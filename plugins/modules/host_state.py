"""Ansible module: everything that the roles must know of a host before they begin, read at once."""

from __future__ import annotations

import pwd
import re
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: host_state
short_description: What the roles need to know of a host
description:
  - A task costs half a second for four hosts on two cores, whether it changes anything or not. What this one reads
    lets the roles leave out tasks that would change nothing.
options:
  packages: {type: list, elements: str, default: [], description: "Debian packages to look for."}
  venv: {type: str, default: venv, description: "Virtual environment to look for, below each home directory."}
attributes: {check_mode: {support: full}}
returns:
  ansible_facts:
    type: dict
    description: tpuwright_host with container, hugepages, missing_packages, shells, uv and pythons.
"""

FIRST_PERSON = 1000  # uid of the first account that is a person's, on Debian and Ubuntu


def missing_packages(names: list[str], dpkg_output: str) -> list[str]:
    """Those of `names` that dpkg-query's "name status" lines do not show as installed, in the order given."""
    installed = {line.split()[0] for line in dpkg_output.splitlines() if line.endswith(" installed")}
    return [name for name in names if name not in installed]


def in_container(root: Path) -> bool:
    """Whether this is a container (Docker, Podman, LXC, systemd-nspawn), whose kernel settings are the machine's."""
    marks = ("run/systemd/container", ".dockerenv", "run/.containerenv")
    if any((root / mark).exists() for mark in marks):
        return True
    environment = root / "proc/1/environ"
    return environment.exists() and b"\0container=" in b"\0" + environment.read_bytes()


def hugepages(root: Path) -> str:
    """The kernel's setting of transparent hugepages: always, madvise or never; "" where it has none."""
    setting = root / "sys/kernel/mm/transparent_hugepage/enabled"
    match = re.search(r"\[(\w+)\]", setting.read_text()) if setting.exists() else None
    return match.group(1) if match else ""


def linked_uv(link: Path) -> str:
    """Version of the uv that uv_binary linked at `link`; "" when there is none that is whole."""
    if not link.is_symlink() or not link.exists():
        return ""
    return link.readlink().parent.name


def venv_version(path: Path) -> str:
    """The Python version of a virtual environment, from its pyvenv.cfg; "" when it is not a working one."""
    if not (path / "bin" / "python").exists():  # also false when the interpreter it links to has gone
        return ""
    settings = dict(re.findall(r"^\s*(\S+)\s*=\s*(.*?)\s*$", (path / "pyvenv.cfg").read_text(), re.MULTILINE))
    return settings.get("version_info") or settings.get("version", "")


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "packages": {"type": "list", "elements": "str", "default": []},
            "venv": {"type": "str", "default": "venv"},
        },
        supports_check_mode=True,
    )
    names = module.params["packages"]
    query = ["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status}\n", *names]
    if not module.get_bin_path("dpkg-query"):
        module.fail_json(msg="This host has no dpkg: the roles need Debian or Ubuntu, as all images of TPU VMs are.")
    root = Path("/")
    people = [entry for entry in pwd.getpwall() if entry.pw_uid >= FIRST_PERSON]
    facts = {
        "container": in_container(root),
        "hugepages": hugepages(root),
        "missing_packages": missing_packages(names, module.run_command(query)[1]) if names else [],
        "shells": {entry.pw_name: entry.pw_shell for entry in people},
        "uv": linked_uv(root / "usr/local/bin/uv"),
        "pythons": {entry.pw_name: venv_version(Path(entry.pw_dir) / module.params["venv"]) for entry in people},
    }
    module.exit_json(changed=False, ansible_facts={"tpuwright_host": facts})


if __name__ == "__main__":
    main()
