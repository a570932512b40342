"""Read what a command printed, and say in one sentence what the cloud refused and what to do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer()


@app.command()
def explain(
    log: Annotated[
        Path | None, typer.Argument(help="A file with the output; standard input unless given.", show_default=False)
    ] = None,
) -> None:
    """Read what a command printed, and say in one sentence what the cloud refused and what to do.

    Exits 1 where it recognises nothing.

    Examples:

        pulumi up --yes 2>&1 | tee up.log; tpuwright explain up.log

        pulumi preview 2>&1 | tpuwright explain
    """
    from tpuwright.cloud.errors import explain as sentence_for
    from tpuwright.errors import TpuwrightError

    try:
        text = log.read_text(encoding="utf-8", errors="replace") if log else sys.stdin.read()
    except OSError as error:
        raise TpuwrightError(f"{log} cannot be read ({error.strerror}): give a file that exists.") from error
    sentence = sentence_for(text)
    if sentence is None:
        raise TpuwrightError("No error of the cloud's that is known here stands in that output: read it from its end.")
    typer.echo(sentence)
