"""Rehearse the whole life cycle on this machine: create, configure, verify, repeat, destroy, look for leaks."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from rehearsal.environment import STACK
from rehearsal.paths import REPOSITORY, rehearsal_paths

app = typer.Typer()


@app.command()
def rehearse(
    keep: Annotated[
        bool,
        typer.Option("--keep", envvar="KEEP", help="Stop before destroy, and say how to use and then destroy the pod."),
    ] = False,
    accelerator_type: Annotated[
        str | None,
        typer.Option(envvar="ACCELERATOR_TYPE", help="Rehearse another slice than the one in the stack file."),
    ] = None,
    stack: Annotated[str, typer.Option(help="The stack to rehearse in, beside others.")] = STACK,
    ip_cidr_range: Annotated[
        str | None, typer.Option(help="Another range for the pod's network, where 10.200.0.0/16 is taken here.")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Another port for the embedded cloud.")] = None,
) -> None:
    """Rehearse the whole life cycle on this machine: no account, no cost.

    From nothing to a verified pod, the same commands again (which must change nothing), destroy, and a look at what
    is left. Exits 0 only if all of it held.

    Examples:

        tpuwright rehearse

        tpuwright rehearse --keep

        tpuwright rehearse --accelerator-type v5litepod-8
    """
    from rehearsal.lifecycle.one_at_a_time import only_rehearsal
    from rehearsal.lifecycle.whole_life import Rehearsal, Wishes

    paths = rehearsal_paths().make()
    with only_rehearsal(paths.root / "rehearse.lock"):
        wishes = Wishes(accelerator_type, ip_cidr_range, port)
        Rehearsal(Console(highlight=False), REPOSITORY, paths, stack, wishes).run(keep=keep)
