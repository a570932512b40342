"""`tpuwright emulator` as a user runs it: a process of its own, killed, restarted, purged."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

NODE = {
    "acceleratorType": "v5litepod-16",
    "runtimeVersion": "v2-alpha-tpuv5-lite",
    "networkConfig": {"subnetwork": "sub"},
}
PROJECT = "tpuwright-rehearsal"


class Emulator:
    """Runs the command in a rehearsal directory of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(Path(sys.executable).with_name("tpuwright")), "emulator", *words],
            env={**os.environ, "TPUWRIGHT_REHEARSAL_DIR": str(self.directory)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def start(self) -> None:
        done = self.run("start", "--hosts", "paper", "--port", str(self.port))
        assert done.returncode == 0, done.stderr

    def status(self) -> dict[str, Any]:
        return json.loads(self.run("status", "--json").stdout)

    def http(self) -> httpx.Client:
        status = self.status()
        headers = {"Authorization": f"Bearer {status['token']}"}
        return httpx.Client(base_url=status["endpoint"], headers=headers, trust_env=False)


@pytest.fixture
def emulator(tmp_path: Path) -> Iterator[Emulator]:
    one = Emulator(tmp_path / "state")
    yield one
    one.run("stop", "--purge")


def test_a_started_emulator_answers_to_its_token_and_stays_small(emulator: Emulator) -> None:
    emulator.start()
    status = emulator.status()
    assert status["running"] is True
    assert status["endpoint"] == f"http://127.0.0.1:{emulator.port}"
    assert status["project"] == PROJECT
    with emulator.http() as http:
        path = f"/v2/projects/{PROJECT}/locations/us-west4-a/acceleratorTypes"
        assert http.get(path).status_code == 200
        assert http.get(path, headers={"Authorization": "Bearer x"}).status_code == 401
        http.get(f"/compute/v1/projects/{PROJECT}/global/networks")
        http.get(f"/compute/beta/projects/{PROJECT}/global/networks")
    assert emulator.status()["memory_bytes"] < 200 * 2**20
    assert stat.S_IMODE((emulator.directory / "token").stat().st_mode) == 0o600
    assert stat.S_IMODE(emulator.directory.stat().st_mode) == 0o700


def test_it_listens_on_this_machine_only(emulator: Emulator) -> None:
    emulator.start()
    connections = psutil.Process(emulator.status()["pid"]).net_connections()
    listening = {one.laddr.ip for one in connections if one.status == psutil.CONN_LISTEN}
    assert listening == {"127.0.0.1"}


def test_a_second_start_says_that_it_runs_and_succeeds(emulator: Emulator) -> None:
    emulator.start()
    done = emulator.run("start")
    assert (done.returncode, "runs already" in done.stdout) == (0, True)


def test_a_taken_port_is_named_and_the_option_too(emulator: Emulator) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", emulator.port))
        other.listen()
        done = emulator.run("start", "--hosts", "paper", "--port", str(emulator.port))
    assert done.returncode == 1
    assert str(emulator.port) in done.stderr
    assert "--port" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_killed_emulator_comes_back_with_port_token_and_state(emulator: Emulator) -> None:
    emulator.start()
    before = emulator.status()
    with emulator.http() as http:
        root = f"/compute/v1/projects/{PROJECT}"
        http.post(f"{root}/global/networks", json={"name": "net", "autoCreateSubnetworks": False})
        body = {"name": "sub", "network": "global/networks/net", "ipCidrRange": "10.200.0.0/24"}
        http.post(f"{root}/regions/us-west4/subnetworks", json=body)
        zone = f"/v2/projects/{PROJECT}/locations/us-west4-a"
        http.patch("/_emulator/settings", json={"timings": {"node_create": 1}})
        creation = http.post(f"{zone}/nodes?nodeId=pod", json=NODE).json()
    os.kill(before["pid"], signal.SIGKILL)
    assert emulator.run("status").returncode == 1
    assert emulator.run("start").returncode == 0
    after = emulator.status()
    assert [after[key] for key in ("endpoint", "token", "project")] == [
        before[key] for key in ("endpoint", "token", "project")
    ]
    with emulator.http() as http:
        operation = creation
        while not operation.get("done"):
            operation = http.get(f"/v2/{creation['name']}").json()
        assert operation["response"]["state"] == "READY"


def test_two_emulators_do_not_share_a_directory(emulator: Emulator) -> None:
    emulator.start()
    done = subprocess.run(
        [sys.executable, "-m", "rehearsal.emulator.server", f"--directory={emulator.directory}", "--port=0"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, "Another emulator uses" in done.stderr) == (1, True)


def test_a_stop_keeps_the_state_and_a_purge_does_not(emulator: Emulator) -> None:
    emulator.start()
    assert emulator.run("stop").returncode == 0
    assert json.loads(emulator.run("status", "--json").stdout) == {"running": False}
    assert (emulator.directory / "emulator.sqlite").exists()
    assert "does not run" in emulator.run("stop").stdout
    assert emulator.run("stop", "--purge").returncode == 0
    assert list(emulator.directory.iterdir()) == []


def test_settings_are_set_by_key_and_survive(emulator: Emulator) -> None:
    emulator.start()
    emulator.run("settings", "set", "timings.node_create=40", "capacity.us-west4-a/*=0")
    emulator.run("stop")
    emulator.run("start")
    settings = json.loads(emulator.run("settings").stdout)
    assert settings["timings"]["node_create"] == 40
    assert settings["capacity"] == {"us-west4-a/*": 0}
    refused = emulator.run("settings", "set", "timings.node_crate=4")
    assert refused.returncode == 1
    assert "timings.node_crate" in refused.stderr
    assert json.loads(emulator.run("settings", "defaults").stdout)["capacity"] == {}


def test_a_command_without_an_emulator_says_how_to_start_one(emulator: Emulator) -> None:
    for words in (("settings",), ("reset", "--yes"), ("preempt", "pod")):
        done = emulator.run(*words)
        assert done.returncode == 1
        assert "tpuwright emulator start" in done.stderr


def test_the_help_has_examples(emulator: Emulator) -> None:
    assert "tpuwright emulator start --hosts paper" in emulator.run("start", "--help").stdout
    assert "faults.api=" in emulator.run("settings", "set", "--help").stdout
