"""Bring a stack whose command was killed back to work: its lock, and what was half made."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer()


@app.command()
def recover(
    stack: Annotated[
        str | None, typer.Argument(help="The stack; the selected one unless given.", show_default=False)
    ] = None,
) -> None:
    """Bring a stack whose command was killed back to work.

    Checks that the owner of the stack's lock is dead and releases it; then matches each operation that was under way
    with what the cloud has, and imports or clears it. Nothing is done to a stack that needs nothing.

    Examples:

        tpuwright recover

        tpuwright recover rehearsal
    """
    from tpuwright.environment import environment
    from tpuwright.project import project_directory, stack_name
    from tpuwright.recovery.recover import recover as recover_stack
    from tpuwright.stack import selected_stack

    project = project_directory()
    stack = stack or selected_stack(project)
    os.environ.update(environment(stack, project))
    about = json.loads(_pulumi(project, ["whoami", "--json", "--verbose"]))
    config = json.loads(_pulumi(project, ["config", "--json", "--stack", stack]))
    values = {key: entry.get("value", "") for key, entry in config.items()}
    done = recover_stack(
        backend_url=about["url"],
        project=_project_name(project),
        stack=stack_name(stack),
        defaults={name: values.get(f"gcp:{name}", "") for name in ("project", "region", "zone")},
        pulumi=partial(_pulumi, project),
        fetch=partial(_fetch, values),
        say=typer.echo,
    )
    if not done.anything:
        typer.echo(f"Stack {stack}: nothing is locked and nothing was left half made.")


def _project_name(project: Path) -> str:
    import yaml

    return str(yaml.safe_load((project / "Pulumi.yaml").read_text(encoding="utf-8"))["name"])


def _pulumi(project: Path, arguments: Sequence[str], stdin: str = "") -> str:
    from tpuwright.errors import TpuwrightError

    done = subprocess.run(
        ["pulumi", "--non-interactive", "--color", "never", *arguments],
        cwd=project,
        capture_output=True,
        text=True,
        input=stdin,
        check=False,
    )
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split())[-600:]
        raise TpuwrightError(f"`pulumi {' '.join(arguments[:2])}` failed while the stack was recovered, saying: {said}")
    return done.stdout


def _fetch(config: dict[str, str], service: str, path: str) -> dict[str, Any] | None:
    import httpx

    from tpuwright.cloud.client import DEFAULT_ENDPOINTS, ENDPOINT_KEYS
    from tpuwright.cloud.credentials import access_token
    from tpuwright.cloud.errors import from_text

    endpoint = config.get(ENDPOINT_KEYS[service]) or DEFAULT_ENDPOINTS[service]
    asked = f"whether {path} exists"
    try:
        answer = httpx.get(
            f"{endpoint.rstrip('/')}/{path}", headers={"Authorization": f"Bearer {access_token()}"}, timeout=30
        )
    except httpx.HTTPError as error:
        raise from_text(f"{type(error).__name__}: {error}", asked) from error
    if answer.status_code == httpx.codes.NOT_FOUND:
        return None
    if answer.status_code != httpx.codes.OK:
        raise from_text(f"Error {answer.status_code}: {answer.text}", asked)
    found: dict[str, Any] = answer.json()
    return found
