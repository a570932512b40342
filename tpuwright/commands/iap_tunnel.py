"""A tunnel through Google's IAP to a port of an instance, on standard input and output (for ssh's ProxyCommand)."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Annotated

import typer

app = typer.Typer(rich_markup_mode=None)


@app.command()
def iap_tunnel(
    instance: Annotated[str, typer.Argument(help="The instance, such as the bastion.")],
    port: Annotated[int, typer.Argument(help="Its port, such as 22.")],
    project: Annotated[str, typer.Option(help="The project that the instance is in.")],
    zone: Annotated[str, typer.Option(help="The zone that the instance is in.")],
    url: Annotated[str | None, typer.Option(help="The relay; by default Google's.")] = None,
) -> None:
    """Connect standard input and output to a port of an instance, as ssh's ProxyCommand wants it."""
    from tpuwright.iap.command import tunnel_standard_streams
    from tpuwright.iap.errors import Where
    from tpuwright.iap.tunnel import DEFAULT_URL

    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        asyncio.run(tunnel_standard_streams(Where(instance, port, project, zone), url or DEFAULT_URL))
