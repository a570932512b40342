"""Show the last verification of the selected stack: the table here, or the page in a browser."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(rich_markup_mode=None)


@app.command()
def report(
    stack: Annotated[str | None, typer.Argument(help="The stack; by default the selected one.")] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser as well.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print report.json instead of the table.")] = False,
) -> None:
    """Print the table of the last verification; exit status 1 when a check failed."""
    import webbrowser

    from tpuwright.report.files import read
    from tpuwright.report.model import Status
    from tpuwright.report.table import table
    from tpuwright.stack import open_stack

    directory = open_stack(stack).state_directory
    found = read(directory)
    page = directory / "report.html"
    if as_json:
        typer.echo(found.model_dump_json(indent=2))
    else:
        typer.echo(f"{table(found)}\nVerified {found.created:%Y-%m-%d %H:%M:%S %Z}; the page is {page}")
    if open_page and not webbrowser.open(page.as_uri()):
        typer.echo(f"No browser could be started: open {page} yourself.", err=True)
    if found.status is Status.FAIL:
        raise typer.Exit(1)
