"""`tpuwright env`: what a shell needs to work on a stack."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import rehearsal.environment as of_rehearsal
from tpuwright.environment import Shell, as_shell, environment, search_path
from tpuwright.errors import TpuwrightError
from tpuwright.pulumi_engine import pinned_version

AWKWARD = {"A": 'it\'s $HOME `x` \\ "q"', "PATH": "/one dir:/two"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose Pulumi engine is a script that tells the pinned version, in a home of its own."""
    (tmp_path / "Pulumi.yaml").write_text("name: tpuwright\n")
    engine = tmp_path / "engine" / "pulumi"
    write_program(engine, f"echo v{pinned_version()}")
    monkeypatch.setenv("PATH", f"{engine.parent}:/usr/bin:/bin")
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "pulumi-home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TPUWRIGHT_REHEARSAL_DIR", str(tmp_path / ".rehearsal"))
    return tmp_path


@pytest.fixture
def rehearsed(project: Path) -> Path:
    """The project, after an embedded cloud has run in it."""
    state = project / ".rehearsal"
    state.mkdir()
    cloud = {"pid": 1, "endpoint": "http://127.0.0.1:8778", "project": "tpuwright-rehearsal"}
    (state / "emulator.json").write_text(json.dumps(cloud))
    (state / "token").write_text("ya29.secret\n")
    return project


def write_program(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def evaluated(text: str, command: list[str]) -> dict[str, str]:
    """The environment of a shell after it has evaluated `text`."""
    program = f"{text}\n{sys.executable} -c 'import json,os; print(json.dumps(dict(os.environ)))'"
    done = subprocess.run([*command, program], capture_output=True, text=True, check=True, env={"PATH": os.defpath})
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("shell", [Shell.BASH, Shell.ZSH, Shell.FISH])
def test_every_shell_reads_awkward_values_back_as_they_were(shell: Shell) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    read = evaluated(as_shell(AWKWARD, shell), [shell, "-c"])
    assert {name: read[name] for name in AWKWARD} == AWKWARD


def test_fish_gets_a_list_for_path_and_its_own_quotes() -> None:
    assert as_shell({"PATH": "/a:/b", "X": "it's\\"}, Shell.FISH) == "set -gx PATH '/a' '/b'\nset -gx X 'it\\'s\\\\'\n"


def test_evaluating_twice_does_not_grow_path() -> None:
    once = search_path([Path("/venv/bin"), Path("/engine")], "/usr/bin:/bin")
    assert search_path([Path("/venv/bin"), Path("/engine")], once) == once


def test_a_stack_without_settings_is_refused_naming_those_that_exist(project: Path) -> None:
    (project / "Pulumi.research.yaml").write_text("config: {}\n")
    (project / "Pulumi.example.yaml").write_text("config: {}\n")
    with pytest.raises(TpuwrightError, match=r"no stack 'typo'.*settings file: research\).*pulumi stack init typo"):
        environment("typo", project)


def test_a_stack_on_google_gets_the_engine_and_nothing_of_the_rehearsal(project: Path) -> None:
    (project / "Pulumi.research.yaml").write_text("config: {gcp:project: real-project}\n")
    found = environment("research", project)
    assert found["PULUMI_STACK"] == "research"
    assert found["PATH"].split(":")[:2] == [str(Path(sys.prefix) / "bin"), str(project / "engine")]
    assert "rehearsal" not in " ".join(found["PATH"].split(":")[2:])
    assert not {"GOOGLE_OAUTH_ACCESS_TOKEN", "PULUMI_BACKEND_URL"} & found.keys()


def test_a_missing_engine_is_said_with_the_command_that_provides_it(project: Path) -> None:
    (project / "Pulumi.research.yaml").write_text("config: {}\n")
    write_program(project / "engine" / "pulumi", "echo v1.0.0")
    with pytest.raises(TpuwrightError, match=r"neither on PATH nor in the cache: run `make setup`"):
        environment("research", project)


def test_a_rehearsal_that_never_ran_is_refused_with_what_starts_it(project: Path) -> None:
    with pytest.raises(TpuwrightError, match=r"make rehearse.*tpuwright emulator start"):
        environment("rehearsal", project)


def test_a_rehearsal_gets_backend_token_and_endpoints_for_gcloud(rehearsed: Path) -> None:
    found = environment("rehearsal", rehearsed)
    state = rehearsed / ".rehearsal"
    assert found["PULUMI_BACKEND_URL"] == f"file://{state}/backend"
    assert found["PULUMI_CONFIG_PASSPHRASE_FILE"] == str(state / "passphrase")
    assert (state / "backend").is_dir()
    assert (state / "passphrase").stat().st_mode & 0o777 == 0o600
    assert found["GOOGLE_OAUTH_ACCESS_TOKEN"] == "ya29.secret"
    assert found["CLOUDSDK_AUTH_ACCESS_TOKEN_FILE"] == str(state / "token")
    assert found["CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"] == "http://127.0.0.1:8778/"


def test_another_stack_in_the_embedded_clouds_project_is_a_rehearsal_too(rehearsed: Path) -> None:
    (rehearsed / "Pulumi.second.yaml").write_text("config:\n  gcp:project: tpuwright-rehearsal\n")
    assert environment("second", rehearsed)["PULUMI_STACK"] == "second"
    assert "GOOGLE_OAUTH_ACCESS_TOKEN" in environment("second", rehearsed)


def test_stand_ins_are_behind_venv_and_engine_where_nothing_official_is_here(rehearsed: Path) -> None:
    entries = environment("rehearsal", rehearsed)["PATH"].split(":")
    assert entries[1:4] == [
        str(rehearsed / "engine"),
        str(of_rehearsal.PROVIDER_DIRECTORY),
        str(of_rehearsal.LANGUAGE_HOST_DIRECTORY),
    ]


def plugin_as_the_engine_keeps_it(project: Path) -> None:
    from importlib.metadata import version

    directory = project / "pulumi-home" / "plugins" / f"resource-gcp-v{version('pulumi-gcp')}"
    write_program(directory / "pulumi-resource-gcp", "exit 0")


def plugin_on_path(project: Path) -> None:
    write_program(project / "engine" / "pulumi-resource-gcp", "exit 0")


@pytest.mark.parametrize("install", [plugin_as_the_engine_keeps_it, plugin_on_path])
def test_the_stand_in_plugin_stays_off_path_where_the_official_one_is(
    rehearsed: Path, install: Callable[[Path], None]
) -> None:
    install(rehearsed)
    assert str(of_rehearsal.PROVIDER_DIRECTORY) not in environment("rehearsal", rehearsed)["PATH"].split(":")


def test_the_stand_in_language_host_stays_off_path_where_the_official_one_is(rehearsed: Path) -> None:
    write_program(rehearsed / "engine" / "pulumi-language-python", "exit 0")
    assert str(of_rehearsal.LANGUAGE_HOST_DIRECTORY) not in environment("rehearsal", rehearsed)["PATH"].split(":")


def test_our_own_stand_in_on_path_does_not_pass_for_the_official_one(
    rehearsed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = rehearsed / "ours"
    write_program(ours / "pulumi-resource-gcp", "exit 0")
    monkeypatch.setattr(of_rehearsal, "PROVIDER_DIRECTORY", ours)
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:{ours}")
    assert of_rehearsal.official_gcp_plugin() is None
