"""The language host runs programs, and shows what is wrong with them, as Pulumi's own does."""

from pathlib import Path

import pytest
from pulumi_project import Project

from rehearsal.engine import language_host_packages
from rehearsal.engine.language_host_python import OptionError, interpreter_for


def main_module(project: Project, text: str) -> None:
    (project.directory / "program" / "__main__.py").write_text(text)


@pytest.mark.pulumi
def test_a_program_runs_in_its_directory_with_its_configuration_and_its_environment(project: Project) -> None:
    project.run("config", "set", "--secret", "p:password", "s3cret-value")
    main_module(
        project,
        "import os, sys, pulumi\n"
        "import beside\n"
        "pulumi.export('directory', os.getcwd())\n"
        "pulumi.export('prefix', sys.prefix)\n"
        "pulumi.export('arguments', sys.argv)\n"
        "pulumi.export('beside', beside.VALUE)\n"
        "pulumi.export('names', [pulumi.get_project(), pulumi.get_stack()])\n"
        "pulumi.export('password', pulumi.Config('p').require_secret('password'))\n",
    )
    (project.directory / "program" / "beside.py").write_text("VALUE = 5\n")
    shown = project.up()
    assert "s3cret-value" not in shown
    outputs = project.outputs()
    assert outputs["directory"] == str(project.directory / "program")
    assert outputs["names"] == ["p", "test"]
    assert outputs["beside"] == 5
    assert outputs["arguments"] == ["."]
    assert outputs["password"] == "s3cret-value"


@pytest.mark.pulumi
def test_an_error_of_the_users_is_one_sentence_and_an_unforeseen_one_a_traceback_of_the_program(
    project: Project,
) -> None:
    main_module(project, "import pulumi\nraise pulumi.RunError('pods[0] is too small; take v5litepod-8')\n")
    shown = project.run("preview", fails=True)
    assert "error: pods[0] is too small; take v5litepod-8" in shown
    assert "Traceback" not in shown
    assert "non-zero exit code" not in shown

    main_module(project, "def plan():\n    raise ValueError('no such zone')\n\nplan()\n")
    shown = project.run("preview", fails=True)
    assert "Program failed with an unhandled exception" in shown
    assert 'program/__main__.py", line 4, in <module>' in shown
    assert "ValueError: no such zone" in shown
    # The frames of Pulumi and of the host above the program say nothing to its author.
    assert "runpy" not in shown
    assert "language_host_program" not in shown

    (project.directory / "program" / "__main__.py").unlink()
    assert "unable to find main python program `__main__.py`" in project.run("preview", fails=True)


def test_the_plugin_of_an_installed_package_is_named_with_its_version() -> None:
    assert {"name": "gcp", "version": "v10.2.0", "server": ""} in language_host_packages.plugins()


def test_packages_that_others_require_are_listed_only_when_all_are_asked_for() -> None:
    every, direct = (dict(language_host_packages.packages(transitive)) for transitive in (True, False))
    assert "grpcio" in every
    assert "grpcio" not in direct
    assert set(direct) < set(every)


def test_an_option_that_cannot_be_used_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r'set to "venv", but .* doesn.t exist; run `pulumi install`'):
        interpreter_for(tmp_path, {"virtualenv": "venv"})
    (tmp_path / "venv").mkdir()
    with pytest.raises(OptionError, match="doesn't appear to be a virtual environment"):
        interpreter_for(tmp_path, {"virtualenv": "venv"})
    with pytest.raises(OptionError, match="virtualenv option must be a string"):
        interpreter_for(tmp_path, {"virtualenv": 5})
    with pytest.raises(OptionError, match="poetry"):
        interpreter_for(tmp_path, {"toolchain": "poetry"})


def test_the_environment_of_a_program_is_that_of_an_active_virtual_environment(tmp_path: Path) -> None:
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").touch()
    found = interpreter_for(tmp_path, {"virtualenv": ".venv"})
    made = found.environment({"PATH": "/usr/bin", "PYTHONHOME": "/elsewhere", "VIRTUAL_ENV": "/other"})
    assert made == {"PATH": f"{tmp_path}/.venv/bin:/usr/bin", "VIRTUAL_ENV": f"{tmp_path}/.venv"}
