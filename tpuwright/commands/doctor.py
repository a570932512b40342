"""Look at what this machine, and a stack, need; say what to do about what is missing."""

from __future__ import annotations

import json
import os
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer

from tpuwright.doctor.check import Check, Finding, failed, ok
from tpuwright.errors import TpuwrightError
from tpuwright.project import known_stacks, project_directory

app = typer.Typer(rich_markup_mode=None)

GROUP = "tpuwright.checks"


def _complete_stack(incomplete: str) -> list[str]:
    return [stack for stack in known_stacks(project_directory()) if stack.startswith(incomplete)]


@app.command()
def doctor(
    stack: Annotated[
        str | None,
        typer.Argument(help="Also look at what this stack needs.", autocompletion=_complete_stack),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of a table.")] = False,
) -> None:
    """Look at what this machine, and STACK, need. Exits with 1 when a check fails."""
    from tpuwright.doctor.examine import examine
    from tpuwright.doctor.table import any_failed, as_table, summary
    from tpuwright.doctor.table import as_json as json_of

    findings = examine(checks_for(stack, project_directory()))
    if as_json:
        typer.echo(json.dumps(json_of(stack, findings), indent=2))
    else:
        from rich.console import Console

        console = Console(highlight=False)
        console.print(as_table(findings))
        console.print(summary(findings))
    raise typer.Exit(int(any_failed(findings)))


def checks_for(stack: str | None, project: Path) -> list[Check]:
    """The checks of the machine, and of `stack` where one is named."""
    checks: list[Check] = []
    if stack is not None:
        checks.append(_shell_environment(stack, project))
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        checks += entry.load()(stack, project)
    if stack is not None:
        from tpuwright.doctor.google_checks import GoogleChecks
        from tpuwright.doctor.pulumi_checks import pulumi_checks

        checks += pulumi_checks(stack, project)
        checks += GoogleChecks(stack, project).checks()
    return checks


def _shell_environment(stack: str, project: Path) -> Check:
    """Take on what `tpuwright env` says, so that the other checks look at what a user's commands will meet."""
    from tpuwright.environment import environment

    finding = ok("as `tpuwright env` prints it")
    try:
        os.environ.update(environment(stack, project))
    except TpuwrightError as error:
        found, _, remedy = str(error).rpartition(": ")
        finding = failed(found, remedy)

    def answer() -> Finding:
        return finding

    return Check("Environment", f"commands on {stack} run in it", answer)
