"""The `tpuwright` command itself."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from tpuwright import cli
from tpuwright.commands.lazy import LazyCommand, first_docstring_line, installed_commands
from tpuwright.errors import TpuwrightError

TPUWRIGHT = str(Path(sys.executable).with_name("tpuwright"))


def tpuwright(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [TPUWRIGHT, *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
        check=False,
    )


def test_help_lists_every_command_with_what_it_does() -> None:
    listing = tpuwright("--help", COLUMNS="200").stdout
    for name, entry in installed_commands().items():
        line = next(line for line in listing.splitlines() if line.strip().startswith(f"{name} "))
        assert first_docstring_line(entry.module).split()[0] in line


def test_every_command_that_is_declared_has_a_module() -> None:
    for entry in installed_commands().values():
        assert importlib.util.find_spec(entry.module), entry.value


def test_help_imports_no_command_and_nothing_heavy() -> None:
    program = (
        "import sys; from tpuwright import cli; sys.argv = ['tpuwright', '--help']\n"
        "try: cli.main()\n"
        "except SystemExit: print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert "tpuwright.commands.lazy" in loaded
    heavy = {entry.module for entry in installed_commands().values()} | {"rich.console", "googleapiclient", "docker"}
    assert not loaded & heavy


def test_version_is_that_of_the_package() -> None:
    from importlib.metadata import version

    assert tpuwright("--version").stdout.strip() == version("tpuwright")


def test_an_unknown_command_is_refused_with_the_nearest_one() -> None:
    done = tpuwright("doktor")
    assert done.returncode == 2
    assert "doctor" in done.stderr


def test_an_error_of_ours_is_one_sentence_and_status_1(tmp_path: Path) -> None:
    done = subprocess.run([TPUWRIGHT, "env", "x"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("No Pulumi.yaml in ")
    assert "Traceback" not in done.stderr


def test_debug_shows_the_traceback_as_well(tmp_path: Path) -> None:
    done = subprocess.run([TPUWRIGHT, "--debug", "env", "x"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_a_command_whose_module_is_missing_is_named_with_the_remedy() -> None:
    entry = EntryPoint("gone", "tpuwright.commands.gone:app", "tpuwright.commands")
    with pytest.raises(TpuwrightError, match=r"`tpuwright gone` cannot run.*tpuwright\.commands\.gone.*make setup"):
        LazyCommand(entry).load()


def test_an_entry_point_that_is_no_typer_app_is_refused() -> None:
    entry = EntryPoint("odd", "tpuwright.errors:TpuwrightError", "tpuwright.commands")
    with pytest.raises(TpuwrightError, match=r"not a typer\.Typer"):
        LazyCommand(entry).load()


def test_main_is_what_the_console_script_calls() -> None:
    assert cli.main.__module__ == "tpuwright.cli"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_the_commands_in_every_shell(shell: str) -> None:
    asked = {"COMP_WORDS": "tpuwright do", "COMP_CWORD": "1", "_TYPER_COMPLETE_ARGS": "tpuwright do"}
    done = tpuwright(_TPUWRIGHT_COMPLETE=f"complete_{shell}", _TYPER_COMPLETE_FISH_ACTION="get-args", **asked)
    assert "doctor" in done.stdout
    assert "emulator" not in done.stdout


def test_completion_is_offered_by_the_whole_command_only() -> None:
    assert "--install-completion" in tpuwright("--help").stdout
    assert "--install-completion" not in tpuwright("emulator", "--help").stdout
