"""Make `ssh pod-w0` work: entries for a stack's hosts that ~/.ssh/config includes, with known host keys."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

app = typer.Typer(rich_markup_mode=None)

#: Servers that listen on a host's own loopback.
PORTS: Final = {"jupyter": 8888, "tensorboard": 6006}


@app.command()
def config_ssh(
    stack: Annotated[str | None, typer.Argument(help="The stack; by default the selected one.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take the stack's entries away.")] = False,
    print_only: Annotated[bool, typer.Option("--print", help="Print the entries, write nothing.")] = False,
    forward: Annotated[
        list[str] | None,
        typer.Option(help="Forward worker 0's port: jupyter, tensorboard, a number, or none. May be repeated."),
    ] = None,
    user: Annotated[str | None, typer.Option(help="Log in as this user of the stack; by default its first.")] = None,
    wait: Annotated[float, typer.Option(help="Seconds to wait for pods and host keys.", min=0)] = 120,
    directory: Annotated[Path, typer.Option(help="The ssh directory.", show_default=False)] = Path("~/.ssh"),
) -> None:
    """Write the entries of STACK; run it again after a pod was made anew.

    Only hosts whose keys the API publishes get an entry, and ssh checks those keys: nothing is trusted blindly.
    """
    from tpuwright.project import stack_name
    from tpuwright.ssh.user_config import UserConfig
    from tpuwright.stack import open_stack

    config = UserConfig(directory.expanduser())
    chosen = open_stack(stack)
    if remove:
        done = config.remove(stack_name(chosen.name))
        typer.echo(f"Removed the entries of stack {chosen.name}." if done else f"Stack {chosen.name} had no entries.")
        return

    from tpuwright.live import Cloud
    from tpuwright.ssh.plan import build, control_directory
    from tpuwright.ssh.render import ssh_config

    outputs = chosen.outputs
    now = Cloud(outputs).wait(wait, lambda line: typer.echo(line, err=True), partial=True)
    plan = build(chosen.name, outputs, now, chosen.project, user, _ports(forward))
    for name in plan.left_out:
        typer.echo(
            f"{name} is left out, as it has not published its ssh host keys: run this again when it has booted.",
            err=True,
        )
    if print_only:
        typer.echo(ssh_config(plan, config.known(stack_name(chosen.name)), match_addresses=False, share=True), nl=False)
        return
    control_directory().mkdir(mode=0o700, parents=True, exist_ok=True)
    changed = config.write(plan)
    hosts = [target.aliases[0] for target in plan.targets if target.proxy_command is None]
    path = config.entries(stack_name(chosen.name))
    typer.echo(f"{path} {'is written' if changed else 'was right already'}: ssh {', ssh '.join(hosts) or '(no host)'}")


def _ports(words: list[str] | None) -> list[int]:
    from tpuwright.errors import TpuwrightError

    if words is None:
        return list(PORTS.values())
    found = []
    for word in words:
        if word == "none":
            continue
        port = PORTS.get(word) or (int(word) if word.isdecimal() else 0)
        if not 0 < port < 65536:
            names = ", ".join(PORTS)
            raise TpuwrightError(f"--forward {word} is no port: give {names}, a number from 1 to 65535, or none.")
        found.append(port)
    return found
