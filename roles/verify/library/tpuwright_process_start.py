"""Ansible module: start this host's process of the pod's check, and leave a supervisor that watches and ends it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: tpuwright_process_start
short_description: Start one process of the pod's check and return at once
description:
  - Runs a program with the user's Python under a supervisor of its own.
  - The module tpuwright_process_result fetches how far it came.
  - The supervisor ends the process, and all that it started, at the time limit; nothing else is touched.
  - Not an async task, as those need two more tasks, and polling them from the controller shows each try as a failure.
options:
  python: {type: path, required: true, description: "The interpreter of the user's virtual environment."}
  program: {type: str, required: true, description: "The program's text."}
  join_seconds: {type: int, required: true, description: "How long the process waits for the others."}
  total_seconds: {type: int, required: true, description: "When the process is ended."}
"""

import contextlib
import ctypes
import json
import os
import shlex
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

PR_SET_PDEATHSIG = 1
TAIL = 3000


def main() -> None:
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "python": {"type": "path", "required": True},
            "program": {"type": "str", "required": True},
            "join_seconds": {"type": "int", "required": True},
            "total_seconds": {"type": "int", "required": True},
        }
    )
    python = module.params["python"]
    if not os.access(python, os.X_OK):
        module.fail_json(msg=f"{python} is missing, so JAX cannot be started: run site.yml, which installs it.")
    directory = Path(tempfile.mkdtemp(prefix="tpuwright-verify-"))
    supervisor = leave_behind(module.params, directory)
    module.exit_json(changed=False, directory=str(directory), supervisor=supervisor)


def leave_behind(given: dict[str, Any], directory: Path) -> int:
    """Start the supervisor in a session of its own, away from the connection; its process id."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        os.closerange(3, 4096)
        supervise(given, directory)
        status = 0
    finally:
        # Not sys.exit: nothing of the module may run twice.
        os._exit(status)


def supervise(given: dict[str, Any], directory: Path) -> None:
    """Run the process and write the result in one step, so that nobody reads half of it."""
    try:
        result = run(given, directory)
    except OSError as error:
        result = {"failed": True, "msg": f"the process could not be run: {error}"}
    partial = directory / "result.partial"
    partial.write_text(json.dumps(result), encoding="utf-8")
    partial.rename(directory / "result.json")


def run(given: dict[str, Any], directory: Path) -> dict[str, Any]:
    """Phases passed, how the process ended (exit | signal | limit), its state then, and the end of its output."""
    program, progress, output = directory / "collective.py", directory / "progress", directory / "output"
    program.write_text(given["program"], encoding="utf-8")
    progress.touch()
    command = [given["python"], "-u", str(program), "--progress", str(progress)]
    command += ["--join-seconds", str(given["join_seconds"])]
    libc = ctypes.CDLL(None)

    def die_with_supervisor() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

    started = time.time()
    with output.open("wb") as stream:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            cwd=directory,
            env=environment(),
            start_new_session=True,
            preexec_fn=die_with_supervisor,
        )
        state = watch(process, started + given["total_seconds"])
    return {
        "seconds": round(time.time() - started, 3),
        "phases": phases(progress),
        "ended": "limit" if state else ("exit" if process.returncode >= 0 else "signal"),
        "status": process.returncode,
        "state": state,
        "output": output.read_text(encoding="utf-8", errors="replace")[-TAIL:],
    }


def watch(process: subprocess.Popen[bytes], end: float) -> str:
    """Wait for the end of the process or of the time: "" or the kernel's state letter when the time was up."""
    state = ""
    while process.poll() is None and time.time() < end:
        # No event tells of both; a fifth of a second is short against any phase.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=min(0.2, max(0.01, end - time.time())))
    if process.poll() is None:
        state = state_letter(process.pid)
        if state not in ("T", "t"):
            process.send_signal(signal.SIGUSR1)  # it writes its stack to its output
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=1)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return state


def state_letter(pid: int) -> str:
    """R running, S sleeping, D in the kernel, T stopped, Z dead."""
    with contextlib.suppress(OSError, IndexError):
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0]
    return "Z"


def environment() -> dict[str, str]:
    """A login's variables: /etc/environment is read again, as a connection that is older than it lacks them."""
    found = dict(os.environ)
    with contextlib.suppress(OSError):
        for line in Path("/etc/environment").read_text(encoding="utf-8").splitlines():
            name, equals, value = line.strip().removeprefix("export ").partition("=")
            if equals and not name.startswith("#"):
                with contextlib.suppress(ValueError):
                    found[name.strip()] = " ".join(shlex.split(value))
    return found


def phases(progress: Path) -> list[dict[str, Any]]:
    """The whole lines of the progress file."""
    found = []
    for line in progress.read_text(encoding="utf-8").splitlines():
        with contextlib.suppress(json.JSONDecodeError):
            found.append(json.loads(line))
    return found


if __name__ == "__main__":
    main()
