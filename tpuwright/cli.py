"""The `tpuwright` command: options of its own, and the commands that are installed."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from tpuwright.commands.lazy import LazyGroup
from tpuwright.errors import TpuwrightError

DEBUG_VARIABLE = "TPUWRIGHT_DEBUG"

app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    help="Declare a JAX TPU pod, configure it, prove it, tear it down; rehearse all that on this machine.",
    rich_markup_mode=None,  # loading the painter takes longer than all the rest of `--help`
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(version("tpuwright"))
        raise typer.Exit


@app.callback()
def _root(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", envvar=DEBUG_VARIABLE, help="Show the traceback of an error, too.")
    ] = False,
) -> None:
    if debug:
        # In the environment, so that commands that start processes of ours pass it on.
        os.environ[DEBUG_VARIABLE] = "1"


def main() -> None:
    """Run the command line; an error of ours is one sentence on stderr and exit status 1."""
    try:
        app()
    except TpuwrightError as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        typer.echo(str(error), err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
