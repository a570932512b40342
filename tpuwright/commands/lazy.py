"""A command group that knows its commands by name and imports one only when it runs."""

from __future__ import annotations

import ast
import importlib.util
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from tpuwright.errors import TpuwrightError

GROUP = "tpuwright.commands"
_COMPLETION_OPTIONS = ("install_completion", "show_completion")


@cache
def installed_commands() -> dict[str, EntryPoint]:
    """The entry points of `tpuwright.commands`, by command name, in alphabetical order."""
    return {entry.name: entry for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name)}


def first_docstring_line(module: str) -> str:
    """The first line of a module's docstring, read from its source without running it; or ""."""
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:  # the package that should hold it is missing: said when the command is run
        return ""
    if spec is None or spec.origin is None:
        return ""
    docstring = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8")))
    return docstring.partition("\n")[0].strip() if docstring else ""


class LazyCommand(TyperCommand):
    """Stands for a command in help and completion; becomes the real one when its arguments are parsed."""

    def __init__(self, entry: EntryPoint) -> None:
        super().__init__(name=entry.name, help=first_docstring_line(entry.module))
        self.entry = entry

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        return self.load().make_context(info_name, args, parent=parent, **extra)

    def load(self) -> Any:
        """Import the command's module.

        Raises:
            TpuwrightError: the entry point names something that is not a `typer.Typer`.
        """
        try:
            app = self.entry.load()
        except ModuleNotFoundError as error:
            raise TpuwrightError(
                f"`tpuwright {self.entry.name}` cannot run: the module {error.name} is missing from this "
                "installation; `make setup` installs what the lock names."
            ) from error
        if not isinstance(app, typer.Typer):
            raise TpuwrightError(
                f"`tpuwright {self.entry.name}` cannot run: its entry point {self.entry.value} is a "
                f"{type(app).__name__} and not a typer.Typer; the docstring of tpuwright.commands says what it "
                "should be."
            )
        command = typer.main.get_command(app)
        command.name = self.entry.name
        # Completion is installed once, for `tpuwright` as a whole.
        command.params = [each for each in command.params if each.name not in _COMPLETION_OPTIONS]
        return command


class LazyGroup(TyperGroup):
    """The root group: its commands are the entry points of `tpuwright.commands`."""

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        for name, entry in installed_commands().items():
            self.commands.setdefault(name, LazyCommand(entry))
