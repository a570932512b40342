"""Finding, installing and starting a Docker engine, and what is said where that cannot be."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import psutil
import pytest

from rehearsal.setup import apt, docker_daemon
from rehearsal.setup.docker_engine import DockerEngine
from rehearsal.setup.step import StepFailed, Work, as_root


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(tmp_path / "logs" / "docker.log")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of programs that stand on PATH before the machine's own."""
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return directory


def write_program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_a_daemon_that_dies_is_quoted_with_its_reason_and_its_log(programs: Path, work: Work, tmp_path: Path) -> None:
    write_program(
        programs / "fake-dockerd",
        """cat <<'END'
time="now" level=info msg="Starting up"
level=fatal msg="Error starting daemon: Devices cgroup isn't mounted"
END
exit 1""",
    )
    log = tmp_path / "dockerd.log"
    with pytest.raises(StepFailed) as failure:
        docker_daemon.start_directly(work, lambda: False, log, program="fake-dockerd")
    assert "ended (Error starting daemon: Devices cgroup isn't mounted; its log is" in failure.value.missing
    assert str(log) in failure.value.missing


def test_a_daemon_that_never_answers_is_given_up_after_a_while(
    programs: Path, work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid_file = tmp_path / "pid"
    write_program(programs / "fake-dockerd", f"echo $$ > {pid_file}; exec sleep 60")
    monkeypatch.setattr(docker_daemon, "START_SECONDS", 0.5)
    with pytest.raises(StepFailed, match=r"did not answer in 0\.5 s \(it said nothing"):
        docker_daemon.start_directly(work, lambda: False, tmp_path / "log", program="fake-dockerd")
    psutil.Process(int(pid_file.read_text())).kill()


def test_a_daemon_is_waited_for_and_outlives_the_session_that_started_it(
    programs: Path, work: Work, tmp_path: Path
) -> None:
    ready = tmp_path / "ready"
    write_program(programs / "fake-dockerd", f'sleep 0.3; echo "$$ $*" > {ready}; exec sleep 60')
    said = docker_daemon.start_directly(work, ready.exists, tmp_path / "log", program="fake-dockerd")
    pid, *arguments = ready.read_text().split()
    daemon = psutil.Process(int(pid))
    try:
        assert f"process {pid}" in said
        assert os.getsid(daemon.pid) != os.getsid(0)
        assert arguments[0] == "--group"
    finally:
        daemon.kill()


def test_no_docker_and_no_apt_is_one_sentence_with_what_to_install(
    work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StepFailed) as failure:
        apt.install(["docker.io", "iptables"], work, needed_for="Docker engine")
    assert str(failure.value) == (
        "Docker engine needs the packages docker.io iptables, and this machine has no apt-get: "
        "install them with its own package manager"
    )


def test_apt_that_fails_is_tried_again_with_fresh_lists_and_then_quoted(programs: Path, work: Work) -> None:
    write_program(programs / "apt-get", 'echo "E: Unable to locate package docker.io"; exit 100')
    with pytest.raises(StepFailed, match=r"Unable to locate package docker\.io\): apt-get update && apt-get install"):
        apt.install(["docker.io"], work, needed_for="Docker engine")
    asked = [line.split()[-1] for line in work.log.read_text().splitlines() if line.startswith("$")]
    assert asked == ["docker.io", "update"]


def test_old_package_lists_are_fetched_anew_and_the_install_then_succeeds(
    programs: Path, work: Work, tmp_path: Path
) -> None:
    lists = tmp_path / "lists"
    write_program(programs / "apt-get", f'case "$*" in *update*) touch {lists};; *) test -e {lists};; esac')
    apt.install(["docker.io"], work, needed_for="Docker engine")
    assert lists.exists()


def test_without_root_and_sudo_the_command_is_given_to_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StepFailed, match=r"no sudo here: run `apt-get install x` as root"):
        as_root(["apt-get", "install", "x"])


def test_with_sudo_no_step_asks_for_a_password_in_the_middle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write_program(tmp_path / "sudo", "exit 0")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert as_root(["id"]) == ["sudo", "--non-interactive", "id"]


def test_an_engine_on_another_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://192.0.2.1:2375")
    with pytest.raises(StepFailed, match=r"DOCKER_HOST is tcp://192\.0\.2\.1:2375.*unset DOCKER_HOST"):
        DockerEngine().look()


def test_a_socket_that_nobody_listens_on_is_no_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    assert DockerEngine().look() is None
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "docker.sock"))
    assert DockerEngine().look() is None


def test_a_socket_that_we_may_not_use_is_named_with_the_group_that_may(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "docker.sock"
    with socket.socket(socket.AF_UNIX) as theirs:
        theirs.bind(str(path))
        monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
        monkeypatch.setattr(os, "access", lambda *_: False)
        with pytest.raises(StepFailed, match=r"may not use the Docker engine.*usermod -aG docker"):
            DockerEngine().look()
