"""Ansible module: wait for the result of a process that tpuwright_process_start started, fetch it, and tidy up."""

from __future__ import annotations

DOCUMENTATION = r"""
module: tpuwright_process_result
short_description: How far one process of the pod's check came
description:
  - Waits on the host until the supervisor has written its result, and removes the directory of the process.
options:
  directory: {type: path, required: true, description: "What tpuwright_process_start returned."}
  supervisor: {type: int, required: true, description: "What tpuwright_process_start returned."}
  timeout: {type: int, required: true, description: "Seconds to wait; more than the process may run."}
"""

import json
import shutil
import time
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

POLL_SECONDS = 0.1


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "directory": {"type": "path", "required": True},
            "supervisor": {"type": "int", "required": True},
            "timeout": {"type": "int", "required": True},
        }
    )
    directory = Path(module.params["directory"])
    if not directory.name.startswith("tpuwright-verify-"):
        module.fail_json(msg=f"{directory} is no directory of tpuwright_process_start, so it is left alone.")
    result = directory / "result.json"
    end = time.monotonic() + module.params["timeout"]
    while not result.exists():
        # Looked at again after the supervisor was seen dead: it writes first and ends then.
        if not alive(module.params["supervisor"]) and not result.exists():
            shutil.rmtree(directory, ignore_errors=True)
            module.fail_json(msg="its supervisor was killed, or the host was restarted")
        if time.monotonic() > end:
            module.fail_json(msg=f"its supervisor gave no result within {module.params['timeout']} s")
        time.sleep(POLL_SECONDS)
    found = json.loads(result.read_text(encoding="utf-8"))
    shutil.rmtree(directory, ignore_errors=True)
    module.exit_json(**{"changed": False, **found})


def alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


if __name__ == "__main__":
    main()
