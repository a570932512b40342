"""Print what a shell needs to work on a stack: eval "$(tpuwright env STACK)"."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from tpuwright.environment import Shell, as_shell, environment
from tpuwright.project import known_stacks, project_directory

app = typer.Typer(rich_markup_mode=None)


def _complete_stack(incomplete: str) -> list[str]:
    return [stack for stack in known_stacks(project_directory()) if stack.startswith(incomplete)]


@app.command()
def env(
    stack: Annotated[
        str, typer.Argument(help="The stack to work on, such as rehearsal.", autocompletion=_complete_stack)
    ],
    shell: Annotated[
        Shell | None, typer.Option(help="The shell whose syntax to write; by default that of $SHELL.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead.")] = False,
) -> None:
    """Print what a shell needs to work on STACK: eval "$(tpuwright env STACK)"."""
    variables = environment(stack, project_directory())
    typer.echo(
        json.dumps(variables, indent=2) if as_json else as_shell(variables, shell or Shell.of_user()), nl=as_json
    )
