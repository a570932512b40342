"""Where the project is: the directory with Pulumi.yaml, from which every command of a user works."""

from __future__ import annotations

from pathlib import Path

from tpuwright.errors import TpuwrightError


def project_directory(start: Path | None = None) -> Path:
    """The nearest directory with a Pulumi.yaml, from `start` (the working directory unless given) upwards.

    Raises:
        TpuwrightError: there is none.
    """
    start = (start or Path.cwd()).resolve()
    for directory in (start, *start.parents):
        if (directory / "Pulumi.yaml").is_file():
            return directory
    raise TpuwrightError(
        f"No Pulumi.yaml in {start} or above it, so this is no tpuwright project: change into your clone first."
    )


def stack_name(stack: str) -> str:
    """The last part of a stack's full name: `owner/project/dev` and `dev` are both kept in Pulumi.dev.yaml."""
    return stack.rpartition("/")[2]


def stack_file(project: Path, stack: str) -> Path:
    """The file with a stack's settings, there or not."""
    return project / f"Pulumi.{stack_name(stack)}.yaml"


def known_stacks(project: Path) -> list[str]:
    """Stacks that have a settings file, by name; the example does not count."""
    names = [file.name.removeprefix("Pulumi.").removesuffix(".yaml") for file in project.glob("Pulumi.*.yaml")]
    return sorted(name for name in names if name != "example")
