"""The frame of a rehearsal: one at a time, steps that fail with one sentence, packages from this machine."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from rehearsal.lifecycle import machine_packages, rehearsal_stack
from rehearsal.lifecycle.one_at_a_time import RehearsalRunning, only_rehearsal
from rehearsal.lifecycle.steps import StepFailed, Steps
from rehearsal.lifecycle.whole_life import refuse_change
from rehearsal.paths import RehearsalPaths


def steps(directory: Path) -> Steps:
    return Steps(Console(file=io.StringIO()), directory / "logs", dict(os.environ), directory)


def test_a_second_rehearsal_is_refused_and_the_first_is_named(tmp_path: Path) -> None:
    lock = tmp_path / "rehearse.lock"
    with (
        only_rehearsal(lock),
        pytest.raises(RehearsalRunning, match=f"process {os.getpid()}, since"),
        only_rehearsal(lock),
    ):
        pass


def test_a_killed_rehearsal_leaves_no_lock_in_the_way(tmp_path: Path) -> None:
    lock = tmp_path / "rehearse.lock"
    program = (
        "import sys, time; from pathlib import Path; from rehearsal.lifecycle.one_at_a_time import only_rehearsal\n"
        "with only_rehearsal(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    )
    owner = subprocess.Popen([sys.executable, "-c", program, str(lock)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    assert owner.stdout.readline() == "held\n"
    owner.kill()
    owner.wait()
    with only_rehearsal(lock):
        pass


def test_a_failing_command_is_named_with_its_status_and_log(tmp_path: Path) -> None:
    runner = steps(tmp_path)
    with (
        pytest.raises(StepFailed, match=r"`sh -c exit 3` ended with exit status 3.*01-break\.log"),
        runner.step("Break"),
    ):
        runner.run(["sh", "-c", "exit 3"])
    assert [timing.ok for timing in runner.timings] == [False]


def test_a_steps_output_is_returned_and_kept(tmp_path: Path) -> None:
    runner = steps(tmp_path)
    with runner.step("Say"):
        assert runner.run(["printf", r"\033[31mred\033[0m\nplain\n"]) == "red\nplain"
    assert "red\nplain" in (tmp_path / "logs/01-say.log").read_text()


def test_a_change_on_the_second_run_is_a_failure_that_names_the_host() -> None:
    recap = "pod-w0 : ok=9 changed=0 unreachable=0 failed=0\npod-w1 : ok=9 changed=2 unreachable=0 failed=0\n"
    with pytest.raises(StepFailed, match=r"pod-w1 \(2\)"):
        refuse_change(recap)


def test_a_second_run_that_reached_no_host_proves_nothing() -> None:
    with pytest.raises(StepFailed, match="no host"):
        refuse_change("PLAY RECAP *****\n")


def test_the_machines_ca_bundle_is_handed_on_only_where_it_exists(tmp_path: Path) -> None:
    bundle = tmp_path / "ca.crt"
    bundle.touch()
    found = machine_packages.machine_packages({"PIP_CERT": str(tmp_path / "gone.crt"), "SSL_CERT_FILE": str(bundle)})
    assert found["ca_bundle"] == str(bundle)


def test_proxies_and_index_are_taken_from_the_environment() -> None:
    found = machine_packages.machine_packages(
        {"HTTPS_PROXY": "http://proxy:3128", "PIP_INDEX_URL": "http://pypi/simple"}
    )
    assert found["https_proxy"] == "http://proxy:3128"
    assert found["pip_index_url"] == "http://pypi/simple"


def test_the_stack_file_keeps_what_a_person_changed_and_renews_what_the_machine_decides(
    tmp_path: Path,
) -> None:
    paths = RehearsalPaths(tmp_path / "state")
    file = tmp_path / "Pulumi.rehearsal.yaml"
    rehearsal_stack.write_stack_file(file, paths, "http://127.0.0.1:1", "p")
    document = yaml.safe_load(file.read_text())
    document["encryptionsalt"] = "v1:salt"
    document["config"]["tpuwright:pods"][0]["accelerator_type"] = "v5litepod-8"
    file.write_text(yaml.safe_dump(document))
    rehearsal_stack.write_stack_file(file, paths, "http://127.0.0.1:2", "p")
    after = yaml.safe_load(file.read_text())
    assert after["encryptionsalt"] == "v1:salt"
    assert after["config"]["tpuwright:pods"][0]["accelerator_type"] == "v5litepod-8"
    assert after["config"]["gcp:tpuV2CustomEndpoint"] == "http://127.0.0.1:2/v2alpha1/"
    assert after["config"]["tpuwright:endpoints"] == {"iap": "ws://127.0.0.1:2/v4"}


def test_no_secret_stands_in_the_stack_file(tmp_path: Path) -> None:
    paths = RehearsalPaths(tmp_path / "state")
    rehearsal_stack.ensure_passphrase(paths)
    file = tmp_path / "Pulumi.rehearsal.yaml"
    rehearsal_stack.write_stack_file(file, paths, "http://127.0.0.1:1", "p")
    text = file.read_text()
    assert paths.passphrase.read_text() not in text
    assert "PRIVATE KEY" not in text
    assert paths.passphrase.stat().st_mode & 0o077 == 0
    assert paths.ssh_key.stat().st_mode & 0o077 == 0
