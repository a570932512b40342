"""Which Python runs a project: the runtime options of Pulumi.yaml, turned into an interpreter and an environment."""

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


class OptionError(Exception):
    """A runtime option of Pulumi.yaml cannot be used; the text is one sentence for the user."""


@dataclass(frozen=True)
class Interpreter:
    """The Python of a project. `virtualenv` is absolute, or None for the ambient Python."""

    executable: str
    virtualenv: Path | None

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """The environment of `base` with the virtual environment active, as `source bin/activate` makes it."""
        environment = dict(base)
        if self.virtualenv is not None:
            environment.pop("PYTHONHOME", None)
            environment["VIRTUAL_ENV"] = str(self.virtualenv)
            environment["PATH"] = os.pathsep.join(filter(None, [str(self.virtualenv / "bin"), base.get("PATH", "")]))
        return environment

    @property
    def is_this_one(self) -> bool:
        """Whether this very process already runs in that environment."""
        return self.virtualenv is not None and self.virtualenv.resolve() == Path(sys.prefix).resolve()


def interpreter_for(root: Path, options: Mapping[str, object]) -> Interpreter:
    """The interpreter that the project at `root` (where Pulumi.yaml is) asks for.

    Raises:
        OptionError: an option has the wrong type, names an unknown toolchain, or the environment does not exist.
    """
    for name in ("virtualenv", "toolchain", "typechecker"):
        if name in options and not isinstance(options[name], str):
            raise OptionError(f"{name} option must be a string")
    toolchain = str(options.get("toolchain", "pip"))
    if toolchain not in ("pip", "uv"):
        raise OptionError(
            f"the rehearsal's language host runs the toolchains pip and uv; the 'toolchain' option is {toolchain!r}"
        )
    if options.get("typechecker"):
        raise OptionError("the rehearsal's language host has no 'typechecker'; remove the option from Pulumi.yaml")
    chosen = str(options.get("virtualenv", "")) or (".venv" if toolchain == "uv" else "")
    if not chosen:
        return Interpreter(_ambient_python(), None)
    directory = Path(os.path.normpath(root / chosen))
    python = directory / "bin" / "python"
    if python.is_file():
        return Interpreter(str(python), directory)
    state = "doesn't appear to be a virtual environment" if directory.is_dir() else "doesn't exist"
    raise OptionError(
        f'The \'virtualenv\' option in Pulumi.yaml is set to "{chosen}", but "{directory}" {state}; '
        "run `pulumi install` to create it"
    )


def _ambient_python() -> str:
    asked = os.environ.get("PULUMI_PYTHON_CMD")
    for name in [asked] if asked else ["python3", "python"]:
        found = shutil.which(name)
        if found:
            return found
    raise OptionError(f"no Python is on PATH: looked for {asked or 'python3 and python'}")
