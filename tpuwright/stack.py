"""The selected Pulumi stack: its name, its exports and its resources' URNs, read through the `pulumi` command.

One `pulumi` call takes 0.3 s: the exports come from the backend, no program and no plugin runs.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from tpuwright.errors import TpuwrightError
from tpuwright.outputs import StackOutputs
from tpuwright.project import project_directory, stack_name
from tpuwright.pulumi_engine import find_engine

logger = logging.getLogger(__name__)

STATE_DIRECTORY: Final = ".tpuwright"
_TIMEOUT_SECONDS: Final = 60


class StackError(TpuwrightError):
    """The stack cannot be read, or has nothing to read: one sentence with what to do."""


@dataclass(frozen=True)
class Stack:
    """One stack of the project in ``project``; reading is done when a property is asked for, once."""

    project: Path
    name: str

    @property
    def state_directory(self) -> Path:
        """Where files about this stack are kept on this machine: ssh_config, known_hosts, report.json, report.html."""
        return self.project / STATE_DIRECTORY / stack_name(self.name)

    @cached_property
    def outputs(self) -> StackOutputs:
        """The stack's exports; raises ``StackError`` when it has none yet or they are of another program."""
        text = _pulumi(["stack", "output", "--json", "--stack", self.name], self.project, self.name)
        return parse_outputs(text, self.name)

    def urn_of_node(self, node: str) -> str | None:
        """The URN of the V2Vm whose id in the TPU API is ``node``; None when the stack has no such resource."""
        text = _pulumi(["stack", "export", "--stack", self.name], self.project, self.name)
        return urn_of_node(json.loads(text), node)


def open_stack(name: str | None = None, start: Path | None = None) -> Stack:
    """The stack ``name`` or, without it, the selected one (PULUMI_STACK, `pulumi stack select`).

    ``start`` is where the search for Pulumi.yaml begins, upwards; the working directory unless given.
    """
    project = project_directory(start)
    return Stack(project, name or selected_stack(project))


def selected_stack(project: Path) -> str:
    """The name of the selected stack; raises ``StackError`` when none is selected."""
    named = os.environ.get("PULUMI_STACK", "").strip()
    return named or _pulumi(["stack", "--show-name"], project, None).strip()


def parse_outputs(text: str, stack: str) -> StackOutputs:
    """The typed exports in the JSON of `pulumi stack output --json`."""
    found: dict[str, Any] = json.loads(text)
    if not found.get("pods"):
        raise StackError(
            f"Stack {stack} has no pods: nothing was created yet, or `pulumi destroy` removed it; run `pulumi up`."
        )
    try:
        return StackOutputs.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise StackError(
            f"The exports of stack {stack} cannot be read ({place}: {first['msg']}): an older or unfinished "
            "`pulumi up` wrote them; run `pulumi up` again."
        ) from error


def urn_of_node(export: dict[str, Any], node: str) -> str | None:
    """The URN of the V2Vm called ``node`` in what `pulumi stack export` printed."""
    for resource in export.get("deployment", {}).get("resources", []):
        if resource.get("type") == "gcp:tpu/v2Vm:V2Vm" and not resource.get("delete"):
            names = {str(resource.get(part, {}).get("name", "")) for part in ("inputs", "outputs")}
            if node in names or str(resource.get("id", "")).endswith(f"/nodes/{node}"):
                return str(resource["urn"])
    return None


def _pulumi(arguments: Sequence[str], project: Path, stack: str | None) -> str:
    engine = find_engine()
    if engine is None:
        raise StackError("The `pulumi` command was not found: run `make setup`, which installs the version needed.")
    try:
        done = subprocess.run(
            [str(engine), *arguments, "--non-interactive", "--color", "never"],
            cwd=project,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SECONDS,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"},
        )
    except subprocess.TimeoutExpired as error:
        raise StackError(
            f"Pulumi's backend did not answer within {_TIMEOUT_SECONDS} s: check `pulumi whoami -v` and try again."
        ) from error
    if done.returncode == 0:
        return done.stdout
    logger.debug("pulumi %s: %s", " ".join(arguments), done.stderr)
    raise StackError(_sentence(done.stderr, stack))


def _sentence(stderr: str, stack: str | None) -> str:
    # What it says on each of these was tried with 3.256.0.
    help_env = 'for a rehearsal `eval "$(tpuwright env rehearsal)"`'
    if "no stack selected" in stderr or "no stack named" in stderr:
        if stack:
            return (
                f"Stack {stack} does not exist in this Pulumi backend: choose one with `pulumi stack ls` and "
                f"`pulumi stack select`, or {help_env}; `pulumi up` creates what it says."
            )
        return f"No Pulumi stack is selected: run `pulumi stack select STACK`, or {help_env}."
    if "PULUMI_ACCESS_TOKEN must be set" in stderr or "not logged in" in stderr or "problem logging in" in stderr:
        return f"Pulumi is not logged in to a backend: run `pulumi login` (or `pulumi login --local`), or {help_env}."
    if "passphrase must be set" in stderr or "incorrect passphrase" in stderr:
        return (
            f"The passphrase of the stack's secrets is missing or wrong: set PULUMI_CONFIG_PASSPHRASE_FILE, or "
            f"{help_env}."
        )
    if "unable to open bucket" in stderr:
        return f"Pulumi's backend cannot be opened: check PULUMI_BACKEND_URL or run `pulumi login`, or {help_env}."
    said = " ".join(stderr.removeprefix("error: ").split())[:300]
    return f"The stack{f' {stack}' if stack else ''} cannot be read, and Pulumi says: {said}"
