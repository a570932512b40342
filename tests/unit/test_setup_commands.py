"""The commands of the Makefile, as a person and a build server type them."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


def make(*arguments: str) -> str:
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
        # A test run is itself started by make, whose flags must not reach this one.
        env={name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")},
    ).stdout


def test_make_alone_lists_every_command_with_what_it_does() -> None:
    listing = make()
    for command in ("setup", "rehearse", "test", "test-quick", "lint", "bench", "lock", "clean", "help"):
        assert re.search(rf"^  make {command} +\S.*", listing, re.MULTILINE), command
    assert make("help") == listing


def test_make_test_covers_every_directory_of_tests() -> None:
    command = next(line for line in make("-n", "test").splitlines() if "pytest" in line)
    holding_tests = {file.relative_to(REPOSITORY).parts[1] for file in (REPOSITORY / "tests").rglob("test_*.py")}
    assert holding_tests - {Path(word).name for word in command.split()} == set()


@pytest.mark.parametrize("command", ["rehearse", "test", "lint", "bench"])
def test_what_needs_set_up_runs_it_first(command: str) -> None:
    assert make("-n", command).splitlines()[0] == "./setup.sh"


def test_the_build_server_runs_exactly_what_the_readme_says() -> None:
    script = (REPOSITORY / ".ci" / "run").read_text()
    assert os.access(REPOSITORY / ".ci" / "run", os.X_OK)
    assert script.splitlines()[-1] == "exec make test"
    assert re.search(r"^make test\b", (REPOSITORY / "README.md").read_text(), re.MULTILINE)


def test_set_up_is_said_to_be_impossible_without_a_supported_python(tmp_path: Path) -> None:
    for program in ("bash", "dirname", "env"):
        (tmp_path / program).symlink_to(f"/usr/bin/{program}")
    script = tmp_path / "clone" / "setup.sh"
    script.parent.mkdir()
    script.write_text((REPOSITORY / "setup.sh").read_text())
    done = subprocess.run(
        ["/usr/bin/bash", str(script)], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Python 3.11, 3.12 or 3.13 is missing: apt-get install python3")
    assert done.stderr.count("\n") == 1
