"""Starting a real Docker daemon directly, beside the machine's own: its own socket and its own network namespace."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from rehearsal.setup import docker_daemon
from rehearsal.setup.docker_engine import DockerEngine, _answers
from rehearsal.setup.step import StepFailed, Work

DOCKERD = shutil.which("dockerd", path="/usr/sbin:/usr/bin:/usr/local/bin")
ALONE = "--bridge=none --iptables=false --ip-forward=false --ip-masq=false"

pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(DOCKERD is None or os.geteuid() != 0, reason="needs root and a dockerd of this machine's own"),
]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory for all of the daemon's files; short, as the path of a socket may have 107 characters only."""
    directory = Path("/tmp") / f"tpuwright-dockerd-{os.getpid()}"
    directory.mkdir()
    monkeypatch.setenv("DOCKER_HOST", f"unix://{directory}/socket")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    yield directory
    pid_file = directory / "pid"
    if pid_file.exists():
        daemon = psutil.Process(int(pid_file.read_text()))
        daemon.terminate()
        psutil.wait_procs([daemon], timeout=30)
    # A daemon that dies leaves its data directory mounted on itself.
    if f" {directory}/data " in Path("/proc/mounts").read_text():
        subprocess.run(["umount", str(directory / "data")], check=True)
    shutil.rmtree(directory)


def daemon_at(place: Path, programs: Path, options: str) -> str:
    own = f"-H unix://{place}/socket --data-root {place}/data --exec-root {place}/exec --pidfile {place}/pid"
    script = programs / "dockerd-for-tests"
    # In the machine's own network namespace, a daemon without a bridge would remove the bridge of the other one.
    script.write_text(f'#!/bin/sh\nexec unshare --net {DOCKERD} {own} {options} "$@"\n')
    script.chmod(0o755)
    return script.name


def test_a_daemon_is_started_without_systemd_and_answers(place: Path, tmp_path: Path) -> None:
    assert DockerEngine().look() is None
    program = daemon_at(place, tmp_path, ALONE)
    docker_daemon.start_directly(Work(tmp_path / "work.log"), _answers, tmp_path / "dockerd.log", program)
    found = DockerEngine().look()
    assert found is not None
    assert found[0].isdigit()


def test_a_real_daemon_that_refuses_its_options_is_quoted(place: Path, tmp_path: Path) -> None:
    program = daemon_at(place, tmp_path, f"{ALONE} --storage-driver=no-such-driver")
    with pytest.raises(StepFailed, match=r"The Docker daemon ended \(.*driver not supported"):
        docker_daemon.start_directly(Work(tmp_path / "work.log"), _answers, tmp_path / "dockerd.log", program)
