"""What a shell needs to work on a stack by hand: `eval "$(tpuwright env STACK)"`.

An entry point of the group `tpuwright.environments` names a function `(stack, project directory) -> mapping or None`
that adds variables for the stacks that it knows, and answers None for others. Its PATH, if any, holds directories to
add behind ours; every other variable is taken as it is.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from importlib.metadata import entry_points
from pathlib import Path

from tpuwright.errors import TpuwrightError
from tpuwright.project import known_stacks, stack_file
from tpuwright.pulumi_engine import find_engine, pinned_version

GROUP = "tpuwright.environments"

Contribution = Callable[[str, Path], Mapping[str, str] | None]


class Shell(StrEnum):
    """The shells whose syntax `tpuwright env` writes."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"

    @classmethod
    def of_user(cls) -> Shell:
        """The shell that $SHELL names, or bash."""
        name = Path(os.environ.get("SHELL", "")).name
        return cls(name) if name in set(cls) else cls.BASH


def environment(stack: str, project: Path) -> dict[str, str]:
    """Variables by name for work on `stack`; PATH is whole: ours first, then the present one without ours.

    Raises:
        TpuwrightError: there is no such stack, or what it needs is not there.
    """
    contributions = [given for each in _contributions() if (given := each(stack, project)) is not None]
    if not contributions and not stack_file(project, stack).is_file():
        known = ", ".join(known_stacks(project)) or "none yet"
        raise TpuwrightError(
            f"There is no stack {stack!r} in {project} (stacks with a settings file: {known}): make it with "
            f"`pulumi stack init {stack}` and settings as in Pulumi.example.yaml."
        )
    engine = find_engine()
    if engine is None:
        raise TpuwrightError(
            f"The Pulumi engine {pinned_version()} is neither on PATH nor in the cache: run `make setup`."
        )
    own = [Path(sys.prefix) / "bin", engine.parent]
    variables = {
        "VIRTUAL_ENV": sys.prefix,
        "PULUMI_STACK": stack,
        "PULUMI_SKIP_UPDATE_CHECK": "true",
    }
    for given in contributions:
        own += [Path(entry) for entry in given.get("PATH", "").split(os.pathsep) if entry]
        variables |= {name: value for name, value in given.items() if name != "PATH"}
    return {"PATH": search_path(own, os.environ.get("PATH", os.defpath)), **variables}


def search_path(first: Iterable[Path], present: str) -> str:
    """`first`, then the directories of `present` that are not among them, each once and in order."""
    entries = [str(directory) for directory in first] + [entry for entry in present.split(os.pathsep) if entry]
    return os.pathsep.join(dict.fromkeys(entries))


def as_shell(variables: Mapping[str, str], shell: Shell) -> str:
    """Commands that set `variables`, for `eval` (bash, zsh) or `source` (fish); values are quoted."""
    return "".join(f"{_assignment(name, value, shell)}\n" for name, value in variables.items())


def _assignment(name: str, value: str, shell: Shell) -> str:
    if shell is not Shell.FISH:
        return f"export {name}={shlex.quote(value)}"
    values = value.split(os.pathsep) if name == "PATH" else [value]
    return f"set -gx {name} {' '.join(map(_fish_quoted, values))}"


def _fish_quoted(value: str) -> str:
    # In fish's single quotes only the backslash and the quote itself are special.
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _contributions() -> list[Contribution]:
    return [entry.load() for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name)]
