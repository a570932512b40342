"""What the members of a configured pod can do with each other."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "shared"))
import reach

WORKERS = ("w0", "w1", "w2")


@pytest.fixture(scope="module")
def pod() -> dict[str, Any]:
    return {name.removeprefix("pod-"): host for name, host in reach.hosts().items()}


def container(worker: str) -> str:
    done = subprocess.run(
        ["docker", "ps", "--quiet", "--filter", f"name=tpuwright-molecule-pod-pod-{worker}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def run(host: Any, command: str) -> tuple[int, Any]:
    """Status and result of a command; testinfra takes status 255 for a connection that failed."""
    done = host.run(f"({command}); echo $? >&2")
    *lines, status = done.stderr.splitlines()
    return int(status), SimpleNamespace(stdout=done.stdout, stderr="\n".join(lines))


def wait_until_gone(pod: dict[str, Any], pattern: str) -> dict[str, str]:
    """Processes that still match after ten seconds, by worker."""
    deadline = time.monotonic() + 10
    while True:
        left = {name: host.run(f"pgrep -u ada -f '{pattern}'").stdout.strip() for name, host in pod.items()}
        if not any(left.values()) or time.monotonic() > deadline:
            return {name: found for name, found in left.items() if found}
        time.sleep(0.2)


@pytest.mark.parametrize(("source", "target"), list(permutations(WORKERS, 2)))
def test_every_host_reaches_every_other_with_a_known_host_key(pod: dict[str, Any], source: str, target: str) -> None:
    assert pod[source].check_output(f"ssh -o BatchMode=yes {target} hostname") == f"pod-{target}"
    assert pod[source].check_output(f"ssh -o BatchMode=yes pod-{target} hostname") == f"pod-{target}"


def test_other_users_reach_the_others_too(pod: dict[str, Any]) -> None:
    assert pod["w0"].check_output("sudo -u grace ssh -o BatchMode=yes w1 id -un") == "grace"


def test_every_key_was_made_on_its_own_host(pod: dict[str, Any]) -> None:
    publics = {host.check_output("ssh-keygen -y -f ~/.ssh/id_ed25519") for host in pod.values()}
    assert len(publics) == len(WORKERS)


def test_a_pod_key_is_refused_from_elsewhere(pod: dict[str, Any]) -> None:
    status, done = run(pod["w1"], "ssh -o BatchMode=yes -o HostKeyAlias=pod-w1 127.0.0.1 true")
    assert status == 255
    assert "Permission denied" in done.stderr


def test_sshd_takes_neither_passwords_nor_root(pod: dict[str, Any]) -> None:
    settings = pod["w0"].check_output("sudo sshd -T").splitlines()
    assert {"passwordauthentication no", "permitrootlogin no", "kbdinteractiveauthentication no"} <= set(settings)


def test_podrun_labels_every_line_with_its_worker(pod: dict[str, Any]) -> None:
    lines = pod["w1"].check_output("podrun -i -- hostname").splitlines()
    assert sorted(lines) == ["w0: pod-w0", "w1: pod-w1", "w2: pod-w2"]


def test_podrun_leaves_the_own_host_out_when_asked(pod: dict[str, Any]) -> None:
    lines = pod["w1"].check_output("podrun --others -- hostname").splitlines()
    assert sorted(lines) == ["w0: pod-w0", "w2: pod-w2"]


def test_podrun_ends_with_the_worst_status_and_says_whose_it_is(pod: dict[str, Any]) -> None:
    done = pod["w0"].run("podrun '[ $(hostname) != pod-w2 ] || exit 7'")
    assert done.rc == 7
    assert done.stderr.strip() == "podrun: w2: the command ended with status 7."


def test_podrun_runs_where_it_was_called_when_asked(pod: dict[str, Any]) -> None:
    assert set(pod["w0"].check_output("cd /var/tmp && podrun -w --gather -- pwd").splitlines()) >= {"/var/tmp"}  # noqa: S108
    done = pod["w0"].run("sudo install -d -m 777 /srv/only-here && cd /srv/only-here && podrun -w --others -- pwd")
    assert done.rc == 1
    assert "there is no directory /srv/only-here on this host" in done.stderr


def test_podrun_passes_arguments_as_they_are(pod: dict[str, Any]) -> None:
    done = pod["w0"].run("""podrun --json --others -- printf '%s|' 'a b' '$HOME' "it's" '*'""")
    hosts = json.loads(done.stdout)["hosts"]
    assert {host["stdout"] for host in hosts.values()} == {"a b|$HOME|it's|*|\n"}


def test_podrun_cleans_what_others_left_but_not_what_is_in_use(pod: dict[str, Any]) -> None:
    pod["w1"].check_output("sudo sh -c 'echo 1 > /tmp/libtpu_lockfile; mkdir -p /tmp/tpu_logs; touch /tmp/tpu_logs/x'")
    holding = "flock /tmp/libtpu_lockfile sleep 20"
    pod["w2"].check_output(f"nohup {holding} >/dev/null 2>&1 </dev/null & sleep 1")
    done = pod["w0"].run("podrun -c -- true")
    assert done.rc == 0
    assert "w2: podrun: /tmp/libtpu_lockfile is in use by process" in done.stderr
    assert pod["w1"].run("ls /tmp/libtpu_lockfile /tmp/tpu_logs").stdout == ""
    assert pod["w2"].file("/tmp/libtpu_lockfile").exists  # noqa: S108


@pytest.mark.parametrize("signal", ["INT", "KILL"])
def test_ending_podrun_ends_the_command_on_every_host(pod: dict[str, Any], signal: str) -> None:
    command = f"podrun 'sleep 98{len(signal)}; true'"
    status, _ = run(pod["w0"], f"timeout --foreground --preserve-status --signal={signal} 5 {command}")
    assert status == {"INT": 130, "KILL": 137}[signal]
    assert wait_until_gone(pod, f"sleep 98{len(signal)}") == {}


def test_podrun_ends_what_takes_too_long(pod: dict[str, Any]) -> None:
    done = pod["w0"].run("podrun --timeout 3 'sleep 985; true'")
    assert done.rc == 124
    assert "w1: the command was ended after 3 s, as --timeout asks." in done.stderr
    assert wait_until_gone(pod, "sleep 985") == {}


def test_podrun_names_a_dead_host_within_its_time_and_runs_on_the_others(pod: dict[str, Any]) -> None:
    dead = container("w2")
    subprocess.run(["docker", "pause", dead], check=True, capture_output=True)
    try:
        started = time.monotonic()
        status, done = run(pod["w0"], "podrun --connect-timeout 4 -- hostname")
        took = time.monotonic() - started
    finally:
        subprocess.run(["docker", "unpause", dead], check=True, capture_output=True)
    assert status == 255
    assert sorted(done.stdout.splitlines()) == ["w0: pod-w0", "w1: pod-w1"]
    assert "w2: pod-w2 (10.253." in done.stderr
    assert "could not be reached within 4 s" in done.stderr
    assert took < 30
