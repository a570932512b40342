"""Every Molecule scenario, of all roles together or of one: `molecule test`, as a person would run it there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SCENARIOS = sorted(
    file.parent
    for places in ("molecule/*/molecule.yml", "roles/*/molecule/*/molecule.yml")
    for file in REPOSITORY.glob(places)
)


def test_there_are_scenarios_to_run() -> None:
    assert SCENARIOS


@pytest.mark.docker
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_scenario_holds(scenario: Path) -> None:
    tools = Path(sys.executable).parent
    done = subprocess.run(
        [str(tools / "molecule"), "test", "--scenario-name", scenario.name],
        cwd=scenario.parents[1],
        env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:]
