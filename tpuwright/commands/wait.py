"""Wait until the pods of the selected stack are READY and their hosts can be reached, within a time limit."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(rich_markup_mode=None)


@app.command()
def wait(
    pods: Annotated[list[str] | None, typer.Argument(help="Pods to wait for; by default all of the stack.")] = None,
    stack: Annotated[str | None, typer.Option(help="The stack; by default the selected one.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds to wait at most.", min=0)] = 1800,
) -> None:
    """Wait until PODS are READY and have published their ssh host keys.

    Ends at once, with what to do, for a state that does not lead to READY (such as PREEMPTED).
    """
    from tpuwright.errors import TpuwrightError
    from tpuwright.live import Cloud
    from tpuwright.stack import open_stack

    chosen = open_stack(stack)
    outputs = chosen.outputs
    unknown = [name for name in pods or [] if name not in outputs.pods]
    if unknown:
        known = ", ".join(outputs.pods)
        raise TpuwrightError(
            f"Stack {chosen.name} has no pod {', '.join(unknown)} (it has {known}): give one of those."
        )
    now = Cloud(outputs).wait(timeout, lambda line: typer.echo(line, err=True), pods or None)
    for name, pod in now.pods.items():
        typer.echo(f"Pod {name} is READY: {', '.join(f'{host.name} {host.internal_ip}' for host in pod.hosts)}.")
