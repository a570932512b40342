"""Ansible module: what a TPU host has, for the check of its pod. Reads only."""

from __future__ import annotations

DOCUMENTATION = r"""
module: tpuwright_host
short_description: What a TPU host has
description:
  - Device nodes, versions of Python and JAX, disk space, clock, hugepages, who uses the TPU, what
    /etc/tpuwright/pod.json says.
options:
  python: {type: path, required: true, description: "The interpreter of the user's virtual environment."}
"""

import contextlib
import json
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

VERSIONS = """
import importlib.metadata as m, json, platform
found = {"python": platform.python_version()}
for name in ("jax", "jaxlib", "libtpu"):
    try:
        found[name] = m.version(name)
    except m.PackageNotFoundError:
        pass
print(json.dumps(found))
"""
NODE = re.compile(r"^/dev/(accel\d+|vfio/\d+)$")


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(argument_spec={"python": {"type": "path", "required": True}}, supports_check_mode=True)
    home = Path.home()
    module.exit_json(
        changed=False,
        time=time.time(),
        accel=count("/dev", r"accel\d+"),
        vfio=count("/dev/vfio", r"\d+"),
        versions=versions(module.params["python"]),
        disk={str(path): shutil.disk_usage(path).free for path in {Path("/"), home}},
        hugepages=chosen(Path("/sys/kernel/mm/transparent_hugepage/enabled")),
        pod=pod_facts(Path("/etc/tpuwright/pod.json")),
        users=users_of_the_tpu(),
    )


def count(directory: str, pattern: str) -> int:
    """How many names in ``directory`` fit ``pattern``."""
    try:
        return sum(1 for entry in Path(directory).iterdir() if re.fullmatch(pattern, entry.name))
    except OSError:
        return 0


def versions(python: str) -> dict[str, str]:
    """Versions by name; {} when the interpreter is missing or does not run."""
    try:
        done = subprocess.run([python, "-c", VERSIONS], capture_output=True, text=True, timeout=60, check=True)
        found: dict[str, str] = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return {}
    return found


def chosen(path: Path) -> str:
    """The word in brackets: "always madvise [never]" gives never; "" where the kernel has no such file."""
    with contextlib.suppress(OSError):
        match = re.search(r"\[(\w+)\]", path.read_text(encoding="ascii"))
        return match.group(1) if match else ""
    return ""


def pod_facts(path: Path) -> dict[str, Any] | None:
    """What configuration wrote about the pod; None when it did not."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found


def users_of_the_tpu() -> list[dict[str, Any]]:
    """Processes that hold one of the TPU's device nodes open, as far as this user may see: [{pid, command}]."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            if any(NODE.match(str(link.readlink())) for link in (entry / "fd").iterdir()):
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                found.append({"pid": int(entry.name), "command": command[:120]})
    return found


if __name__ == "__main__":
    main()
