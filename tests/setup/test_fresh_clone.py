"""Set-up in a clone of its own: for real, on this machine's engine, image and package index."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


def run(clone: Path, *command: str) -> subprocess.CompletedProcess[str]:
    # As on a fresh login: nothing of the environment that the tests themselves run in.
    unwanted = ("VIRTUAL_ENV", "PULUMI_", "MAKE", "MFLAGS", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    own_tools = str(REPOSITORY / ".venv" / "bin")
    kept["PATH"] = ":".join(entry for entry in kept["PATH"].split(":") if entry != own_tools)
    return subprocess.run(
        list(command), cwd=clone, env=kept, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone after `make setup`; it had an environment whose Python is gone, as after an upgrade."""
    directory = tmp_path_factory.mktemp("clone") / "tpuwright"
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(REPOSITORY), str(directory)], check=True)
    (directory / ".venv" / "bin").mkdir(parents=True)
    (directory / ".venv" / "bin" / "python").symlink_to("/no/longer/there/python3.11")
    done = run(directory, "make", "setup")
    assert done.returncode == 0, done.stdout + done.stderr
    return directory


@pytest.mark.docker
@pytest.mark.pulumi
def test_a_fresh_clone_is_set_up_by_one_command_even_over_a_broken_environment(clone: Path) -> None:
    assert run(clone, ".venv/bin/tpuwright", "--version").stdout.strip() == "0.1.0"
    assert run(clone, ".venv/bin/python", "-c", "import tpuwright; print(tpuwright.__file__)").stdout.startswith(
        str(clone)
    )


@pytest.mark.docker
@pytest.mark.pulumi
def test_set_up_again_changes_nothing(clone: Path) -> None:
    def state() -> dict[str, int]:
        return {str(file): file.stat().st_mtime_ns for file in (clone / ".venv").rglob("*.dist-info")}

    before = state()
    done = run(clone, "make", "setup")
    assert done.returncode == 0
    assert "Set-up: all there" in done.stdout
    assert "installing" not in done.stdout
    assert state() == before


@pytest.mark.docker
@pytest.mark.pulumi
def test_a_package_that_somebody_removed_comes_back(clone: Path) -> None:
    assert run(clone, ".venv/bin/uv", "pip", "uninstall", "--quiet", "typer").returncode == 0
    done = run(clone, "make", "setup")
    assert "installing typer" in done.stdout
    assert run(clone, ".venv/bin/tpuwright", "--version").returncode == 0


@pytest.mark.docker
@pytest.mark.pulumi
def test_doctor_finds_nothing_wrong_after_set_up(clone: Path) -> None:
    done = run(clone, ".venv/bin/tpuwright", "doctor")
    assert done.returncode == 0, done.stdout
