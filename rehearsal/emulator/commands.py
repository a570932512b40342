"""Start, stop, look at and hurt the embedded cloud on this machine."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from tpuwright.errors import TpuwrightError

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True)
settings_app = typer.Typer(rich_markup_mode=None, invoke_without_command=True)
app.add_typer(settings_app, name="settings")

_START_EXAMPLES = """Start the embedded cloud in the background, and wait until it answers.

Examples:

    tpuwright emulator start

    tpuwright emulator start --hosts paper --port 9000     # the API alone, without containers
"""
_SET_EXAMPLES = """Change settings: KEY=VALUE, dots between the parts of a key, JSON as values.

Examples:

    tpuwright emulator settings set timings.node_create=40

    tpuwright emulator settings set 'capacity.us-west4-a/*=0'         # a stockout in that zone

    tpuwright emulator settings set 'faults.api=[{"methods": "tpu.*", "http_code": 503, "times": 3}]'
"""


@app.command(help=_START_EXAMPLES)
def start(
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port on 127.0.0.1; as last time, or 8778.")
    ] = None,
    hosts: Annotated[str | None, typer.Option(help="docker, or paper: the API alone; as last time.")] = None,
    project: Annotated[str | None, typer.Option(help="The project's id; as last time.")] = None,
    foreground: Annotated[bool, typer.Option("--foreground", help="Stay here and log to the terminal.")] = False,
) -> None:
    from rehearsal.emulator import daemon as daemons
    from rehearsal.paths import rehearsal_paths

    if hosts not in (None, "docker", "paper"):
        raise TpuwrightError(f"--hosts {hosts} is neither docker nor paper: choose one of them.")
    paths = rehearsal_paths()
    already = daemons.running(paths)
    if already is not None:
        typer.echo(f"The emulator runs already: {already.endpoint}, project {already.project}, pid {already.pid}.")
        return
    if foreground:
        _run_here(port, hosts, project)
        return
    started = daemons.start(paths, port=port, hosts=hosts, project=project)
    typer.echo(f"The emulator serves {started.endpoint}, project {started.project}, hosts {started.hosts}.")
    typer.echo('Point a shell at it: eval "$(tpuwright env rehearsal)"')


@app.command()
def stop(
    purge: Annotated[
        bool, typer.Option("--purge", help="Delete all that it made: containers, networks, and its state.")
    ] = False,
) -> None:
    """Stop the embedded cloud. Its hosts keep running and its state is kept, unless --purge is given."""
    from rehearsal.emulator import daemon as daemons
    from rehearsal.emulator.purge import purge_all
    from rehearsal.paths import rehearsal_paths

    paths = rehearsal_paths()
    if purge:
        left = purge_all(paths)
        if left:
            raise TpuwrightError(f"The purge left {', '.join(left)} behind; remove them with the docker command.")
        typer.echo("The emulator is stopped, and everything that it made is deleted.")
        return
    ended = daemons.stop(paths)
    typer.echo("The emulator does not run." if ended is None else f"The emulator (pid {ended.pid}) is stopped.")


@app.command()
def status(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of tables.")] = False,
) -> None:
    """Show endpoint, token, project and what runs. Exits with 1 when the emulator does not run."""
    from rehearsal.emulator import daemon as daemons
    from rehearsal.paths import rehearsal_paths

    paths = rehearsal_paths()
    daemon = daemons.running(paths)
    if daemon is None:
        typer.echo(
            json.dumps({"running": False})
            if as_json
            else "The emulator does not run: `tpuwright emulator start` starts it."
        )
        raise typer.Exit(1)
    content = {
        "running": True,
        **daemon.model_dump(),
        "hosts_backend": daemon.hosts,
        "token": paths.token.read_text(encoding="ascii").strip(),
        **daemons.ask(paths, "GET", "status"),
    }
    if as_json:
        typer.echo(json.dumps(content, indent=2))
        return
    from rehearsal.emulator.status_tables import print_status

    print_status(content)


@app.command()
def reset(yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False) -> None:
    """Delete everything that exists in the embedded cloud, hosts and networks too. Settings stay."""
    if not yes:
        typer.confirm("Delete every resource of the embedded cloud?", abort=True)
    _ask("POST", "reset")
    typer.echo("The embedded cloud is empty.")


@app.command()
def preempt(node: Annotated[str, typer.Argument(help="Its id, or full name.")]) -> None:
    """Take a node away, as Google does with spot nodes."""
    _trouble(node, "preempt")


@app.command()
def maintain(
    node: Annotated[str, typer.Argument(help="Its id, or full name.")],
    worker: Annotated[int | None, typer.Option(min=0, help="One worker; all of them without.")] = None,
) -> None:
    """Hold a maintenance: hosts reboot, external addresses change."""
    _trouble(node, "maintain", worker)


@app.command(name="fail-host")
def fail_host(
    node: Annotated[str, typer.Argument(help="Its id, or full name.")],
    worker: Annotated[int, typer.Option(min=0, help="Whose host dies.")] = 0,
) -> None:
    """Let a host die; whether it is repaired is the setting faults.repair."""
    _trouble(node, "fail-host", worker)


@settings_app.callback(help="Show the settings, as JSON; `settings set` changes them.")
def settings(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        show()


@settings_app.command()
def show() -> None:
    """Show the settings, as JSON."""
    typer.echo(json.dumps(_ask("GET", "settings"), indent=2))


@settings_app.command(name="set", help=_SET_EXAMPLES)
def set_settings(assignments: Annotated[list[str], typer.Argument(metavar="KEY=VALUE...")]) -> None:
    change: dict[str, Any] = {}
    for assignment in assignments:
        key, separator, text = assignment.partition("=")
        if not separator or not key:
            raise TpuwrightError(f"{assignment!r} is not KEY=VALUE, such as timings.node_create=40.")
        _put(change, key, _value(text))
    typer.echo(json.dumps(_ask("PATCH", "settings", change), indent=2))


@settings_app.command()
def defaults() -> None:
    """Back to the settings of a new emulator."""
    typer.echo(json.dumps(_ask("PUT", "settings", {}), indent=2))


def _ask(method: str, path: str, body: object = None) -> dict[str, Any]:
    from rehearsal.emulator import daemon as daemons
    from rehearsal.paths import rehearsal_paths

    return daemons.ask(rehearsal_paths(), method, path, body)


def _trouble(node: str, verb: str, worker: int | None = None) -> None:
    name = _full_name(node)
    query = "" if worker is None else f"?worker={worker}"
    shown = _ask("POST", f"nodes/{name}:{verb}{query}")
    typer.echo(f"{name}: {shown['state']}" if shown else f"{name} is gone.")


def _full_name(node: str) -> str:
    names = [str(found["name"]) for found in _ask("GET", "status")["nodes"]]
    matching = [name for name in names if node in (name, name.rpartition("/")[2])]
    if len(matching) != 1:
        known = ", ".join(names) or "none"
        raise TpuwrightError(f"{node} is not the name of one node; the nodes here: {known}.")
    return matching[0]


def _value(text: str) -> object:
    try:
        value: object = json.loads(text)
    except ValueError:
        return text
    return value


def _put(change: dict[str, Any], key: str, value: object) -> None:
    # A zone and type may hold no dot, but capacity's keys are globs of any kind: they are one part.
    parts = key.split(".", 1) if key.startswith("capacity.") else key.split(".")
    for part in parts[:-1]:
        change = change.setdefault(part, {})
    change[parts[-1]] = value


def _run_here(port: int | None, hosts: str | None, project: str | None) -> None:
    import os
    import sys

    from rehearsal.emulator import daemon as daemons
    from rehearsal.paths import rehearsal_paths

    paths = rehearsal_paths()
    before = daemons.last(paths)
    command = [sys.executable, "-m", "rehearsal.emulator.server", "--directory", str(paths.root)]
    for name, given in (
        ("port", port or (before.port if before else None)),
        ("hosts", hosts or (before.hosts if before else None)),
        ("project", project or (before.project if before else None)),
    ):
        command += [f"--{name}", str(given)] if given is not None else []
    # The same command line as in the background, so that `stop` and `status` know it.
    os.execv(sys.executable, command)  # noqa: S606
