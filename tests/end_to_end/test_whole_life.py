"""`make rehearse`, as a user runs it, and what it refuses."""

from __future__ import annotations

import subprocess

import pytest

from rehearsal.lifecycle.one_at_a_time import only_rehearsal
from rehearsal.paths import REPOSITORY

from .conftest import RANGE, STACK, Life, free_port

pytestmark = [pytest.mark.lifecycle, pytest.mark.docker, pytest.mark.pulumi]

REHEARSE = ["tpuwright", "rehearse", "--stack", STACK, "--ip-cidr-range", RANGE, "--port", str(free_port())]


@pytest.mark.timeout(1200)
def test_a_rehearsal_holds_from_nothing_to_nothing(life: Life) -> None:
    done = subprocess.run(REHEARSE, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "nothing: no resource in the cloud's API" in done.stdout
    assert "peak memory" in done.stdout
    assert life.verified
    hosts = life.report.pods[0].hosts
    assert [len(host.devices) for host in hosts] == [4, 4, 4, 4]
    assert len({device for host in hosts for device in host.devices}) == 16


def test_a_second_rehearsal_while_one_runs_is_refused_and_names_the_first(life: Life) -> None:
    with only_rehearsal(life.paths.root / "rehearse.lock"):
        done = subprocess.run(REHEARSE, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "already runs in this checkout (process" in done.stderr
    assert "Traceback" not in done.stderr
