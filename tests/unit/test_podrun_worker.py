"""The half of podrun that runs on each host, as real processes."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

FILES = Path(__file__).resolve().parents[2] / "roles" / "podrun" / "files"
sys.path.insert(0, str(FILES))

import podrun_worker as worker  # noqa: E402 # type: ignore[import-not-found]


def job(command: list[str], **changes: Any) -> bytes:
    content = {"command": command, "directory": None, "environment": {}, "clean": False, "venv": "no-such-venv"}
    return json.dumps(content | changes).encode() + b"\n"


def start(line: bytes) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-IS", FILES / "podrun_worker.py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(line)
    process.stdin.flush()
    return process


def finish(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    """Status, output and errors of a process whose standard input stays open until it ends."""
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = process.stdout.read().decode(), process.stderr.read().decode()
    return process.wait(10), out, err


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_one_argument_is_a_line_for_bash_and_several_are_run_as_they_are() -> None:
    assert finish(start(job(["echo a | tr a b"])))[:2] == (0, f"{worker.STARTED}\nb\n")
    assert finish(start(job(["echo", "a | tr a b", "$HOME"])))[1] == f"{worker.STARTED}\na | tr a b $HOME\n"


@pytest.mark.parametrize(("command", "status"), [(["exit 3"], 3), (["kill -9 $$"], 137), (["true"], 0)])
def test_the_status_is_the_commands(command: list[str], status: int) -> None:
    assert finish(start(job(command)))[0] == status


def test_a_program_that_is_not_there_is_named() -> None:
    status, _, errors = finish(start(job(["no-such-program", "x"])))
    assert status == 127
    assert errors == "podrun: no-such-program: there is no such program on this host.\n"


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    status, _, errors = finish(start(job(["pwd"], directory=str(tmp_path / "gone"))))
    assert status == 1
    assert f"there is no directory {tmp_path}/gone on this host" in errors


def test_the_command_runs_in_the_directory_asked_for(tmp_path: Path) -> None:
    assert finish(start(job(["pwd"], directory=str(tmp_path))))[1].endswith(f"{tmp_path}\n")


def test_the_end_of_input_ends_the_command_and_what_it_started(tmp_path: Path) -> None:
    process = start(job([f"sleep 300 & echo $! > {tmp_path}/pid; sleep 300"]))
    deadline = time.monotonic() + 10
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(15) == 128 + signal.SIGTERM
    assert not alive(int((tmp_path / "pid").read_text()))


def test_killing_the_worker_ends_the_command(tmp_path: Path) -> None:
    process = start(job([f"echo $$ > {tmp_path}/pid; sleep 300; true"]))
    deadline = time.monotonic() + 10
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.kill()
    process.wait(10)
    assert process.stdin is not None
    process.stdin.close()
    pid = int((tmp_path / "pid").read_text())
    while alive(pid):
        assert time.monotonic() < deadline + 10
        time.sleep(0.02)


def test_without_a_whole_job_nothing_runs() -> None:
    process = start(b'{"command": ["tou')
    assert process.stdin is not None
    process.stdin.close()
    assert finish(process)[:2] == (1, "")


def test_the_environment_is_identity_etc_environment_and_the_venv() -> None:
    environment = worker.command_environment(
        {"HOME": "/home/ada", "SECRET": "x"}, {"JAX_PLATFORMS": "cpu"}, Path("/home/ada/venv"), {"EXTRA": "1"}
    )
    assert "SECRET" not in environment
    assert environment["PATH"].startswith("/home/ada/venv/bin:/usr/local/sbin:")
    assert (environment["JAX_PLATFORMS"], environment["EXTRA"], environment["VIRTUAL_ENV"]) == (
        "cpu",
        "1",
        "/home/ada/venv",
    )


def test_etc_environment_is_read_as_logins_read_it() -> None:
    text = "# comment\nA=1\nexport B=\"two words\"\n#C=3\n\nD=a=b\nE='q'\n"
    assert worker.parse_environment(text) == {"A": "1", "B": "two words", "D": "a=b", "E": "q"}


def test_stale_locks_and_logs_are_removed(tmp_path: Path) -> None:
    lock, logs = tmp_path / "lock", tmp_path / "logs"
    lock.write_text("1")
    logs.mkdir()
    (logs / "x").write_text("")
    assert worker.remove_stale((lock, logs, tmp_path / "absent")) == []
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_is_held_is_kept_and_its_process_named(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        (sentence,) = worker.remove_stale((lock,))
    assert f"{lock} is in use by process {os.getpid()} and was not removed" in sentence
    assert lock.exists()


def test_a_link_is_removed_and_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.mkdir()
    (target / "file").write_text("")
    link = tmp_path / "tpu_logs"
    link.symlink_to(target)
    assert worker.remove_stale((link,)) == []
    assert (target / "file").exists()
