"""The supervisor of one process of the check, with real processes."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

LIBRARY = Path(__file__).resolve().parents[3] / "roles" / "verify" / "library"

PREAMBLE = """
import argparse, json, os, sys, time, faulthandler, signal
parser = argparse.ArgumentParser()
parser.add_argument("--progress"); parser.add_argument("--join-seconds")
given = parser.parse_args()
faulthandler.register(signal.SIGUSR1)
def passed(phase):
    with open(given.progress, "a") as stream:
        stream.write(json.dumps({"phase": phase, "seconds": 0}) + "\\n")
passed("started")
"""


@pytest.fixture(scope="module")
def module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("process_start", LIBRARY / "tpuwright_process_start.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def run(module: ModuleType, directory: Path, program: str, seconds: float = 60) -> dict[str, Any]:
    given = {"python": sys.executable, "program": PREAMBLE + program, "join_seconds": 5, "total_seconds": seconds}
    found: dict[str, Any] = module.run(given, directory)
    return found


def alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def test_a_process_that_ends_well_gives_its_phases(module: ModuleType, tmp_path: Path) -> None:
    found = run(module, tmp_path, "passed('done')")
    assert [line["phase"] for line in found["phases"]] == ["started", "done"]
    assert (found["ended"], found["status"], found["state"]) == ("exit", 0, "")


def test_a_process_that_fails_gives_the_end_of_its_output(module: ModuleType, tmp_path: Path) -> None:
    found = run(module, tmp_path, "sys.exit('no libtpu here')")
    assert (found["ended"], found["status"]) == ("exit", 1)
    assert "no libtpu here" in found["output"]


def test_a_process_that_hangs_is_ended_at_the_limit_and_says_where_it_was(module: ModuleType, tmp_path: Path) -> None:
    start = time.monotonic()
    found = run(module, tmp_path, "def waiting_for_godot():\n    time.sleep(600)\nwaiting_for_godot()", seconds=3)
    assert time.monotonic() - start < 30
    assert (found["ended"], found["state"]) == ("limit", "S")
    assert "waiting_for_godot" in found["output"]


def test_a_stopped_process_is_seen_as_stopped_and_ended(module: ModuleType, tmp_path: Path) -> None:
    found = run(module, tmp_path, "os.kill(os.getpid(), signal.SIGSTOP)", seconds=3)
    assert (found["ended"], found["state"]) == ("limit", "T")


def test_children_of_the_process_are_ended_with_it(module: ModuleType, tmp_path: Path) -> None:
    note = tmp_path / "child"
    program = (
        f"import subprocess\nchild = subprocess.Popen(['sleep', '600'])\nopen({str(note)!r}, 'w').write(str(child.pid))"
    )
    run(module, tmp_path, program)
    child = int(note.read_text())
    deadline = time.monotonic() + 10
    while alive(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(child)


def test_the_process_dies_with_its_supervisor(module: ModuleType, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    program = f"open({str(note)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)"
    supervisor = os.fork()
    if supervisor == 0:
        run(module, tmp_path, program)
        os._exit(0)
    deadline = time.monotonic() + 30
    while not (note.exists() and note.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    process = int(note.read_text())
    os.kill(supervisor, signal.SIGKILL)
    os.waitpid(supervisor, 0)
    while alive(process) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(process)


def test_variables_of_etc_environment_are_taken_as_a_login_takes_them(
    module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "environment"
    file.write_text('# comment\nJAX_PLATFORMS=cpu\nXLA_FLAGS="--a=1 --b=2"\n\nexport OTHER=x\n')
    real = Path
    monkeypatch.setattr(module, "Path", lambda name: real(file if name == "/etc/environment" else name))
    found = module.environment()
    assert (found["JAX_PLATFORMS"], found["XLA_FLAGS"], found["OTHER"]) == ("cpu", "--a=1 --b=2", "x")


def test_the_result_is_fetched_once_and_leaves_nothing_behind(tmp_path: Path) -> None:
    directory = tmp_path / "tpuwright-verify-1"
    directory.mkdir()
    waiting = subprocess.Popen(["sleep", "60"])
    timer = threading.Timer(0.5, lambda: (directory / "result.json").write_text('{"phases": [], "ended": "exit"}'))
    timer.start()
    arguments = f'{{"ANSIBLE_MODULE_ARGS": {{"directory": "{directory}", "supervisor": {waiting.pid}, "timeout": 30}}}}'
    try:
        done = subprocess.run(
            [sys.executable, str(LIBRARY / "tpuwright_process_result.py"), arguments], capture_output=True, text=True
        )
    finally:
        waiting.kill()
        waiting.wait()
    assert '"ended": "exit"' in done.stdout
    assert not directory.exists()


def test_a_killed_supervisor_is_not_waited_for(tmp_path: Path) -> None:
    directory = tmp_path / "tpuwright-verify-2"
    directory.mkdir()
    gone = subprocess.Popen(["true"])
    gone.wait()
    arguments = f'{{"ANSIBLE_MODULE_ARGS": {{"directory": "{directory}", "supervisor": {gone.pid}, "timeout": 60}}}}'
    done = subprocess.run(
        [sys.executable, str(LIBRARY / "tpuwright_process_result.py"), arguments], capture_output=True, text=True
    )
    assert "its supervisor was killed" in done.stdout
    assert '"failed": true' in done.stdout
