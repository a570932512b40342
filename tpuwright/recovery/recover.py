"""Recover one stack: the lock, the pending operations, then a refresh that makes the state true again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tpuwright.errors import TpuwrightError
from tpuwright.recovery.locks import Lock, locks_of
from tpuwright.recovery.pending import Fetch, Verdict, judge, pending_operations


class Pulumi(Protocol):
    """Runs `pulumi ARGUMENTS` on the stack, with `stdin` as its input; returns its output; raises where it fails."""

    def __call__(self, arguments: Sequence[str], stdin: str = "") -> str: ...


class CannotRecover(TpuwrightError):
    """The stack must be left as it is; the message says why and what a person can do."""


@dataclass
class Recovery:
    """What was done; empty when there was nothing to do."""

    released: list[str] = field(default_factory=list)
    settled: dict[str, Verdict] = field(default_factory=dict)

    @property
    def anything(self) -> bool:
        return bool(self.released or self.settled)


def recover(
    *,
    backend_url: str,
    project: str,
    stack: str,
    defaults: Mapping[str, str],
    pulumi: Pulumi,
    fetch: Fetch,
    say: Callable[[str], None],
) -> Recovery:
    """Release the stack's lock if its owner is dead, then import or clear what was being created.

    Running it again is harmless: where nothing is locked or pending, nothing is called but `pulumi stack export`.
    Raises CannotRecover while an owner lives (or cannot be asked), NotOurs for another stack's resource.
    """
    done = Recovery()
    locks = list(locks_of(backend_url, project, stack))
    for lock in locks:
        _refuse_living_owner(lock, stack)
    if locks:
        pulumi(["cancel", "--yes", "--stack", stack])
        done.released = [lock.owner for lock in locks]
        say(f"Released the lock of stack {stack}: its owner ({'; '.join(done.released)}) is dead.")

    export = json.loads(pulumi(["stack", "export", "--stack", stack]))
    adopted: dict[str, str] = {}
    for operation in pending_operations(export, defaults):
        verdict = judge(operation, fetch, stack)
        done.settled[operation.urn] = verdict
        say(f"{operation.name} was {operation.kind} when the command died; it {verdict.value}.")
        if verdict is Verdict.IMPORT and operation.where is not None:
            adopted[operation.urn] = operation.where.import_id
    if done.settled:
        pulumi(["stack", "import", "--stack", stack], stdin=json.dumps(settle(export, adopted)))
        pulumi(["refresh", "--yes", "--skip-preview", "--stack", stack])
    return done


def settle(export: dict[str, Any], adopted: Mapping[str, str]) -> dict[str, Any]:
    """An exported deployment without pending operations: those in `adopted` (URN to id) are resources of it.

    `pulumi refresh --import-pending-creates` says that it does this, but 3.256.0 turns the operations into imports that
    nothing carries out. What is adopted comes last, as all that it depends on was there when its creation began; the
    refresh that follows fills in its outputs.
    """
    deployment = dict(export["deployment"])
    operations = deployment.pop("pending_operations", None) or []
    made = [
        {**operation["resource"], "id": adopted[operation["resource"]["urn"]]}
        for operation in operations
        if operation["resource"]["urn"] in adopted
    ]
    return {**export, "deployment": {**deployment, "resources": [*deployment.get("resources", []), *made]}}


def _refuse_living_owner(lock: Lock, stack: str) -> None:
    if not lock.made_here:
        raise CannotRecover(
            f"Stack {stack} is locked by {lock.owner}, and from this machine nobody can tell whether that process "
            f"lives: look there, and if it is dead release the lock with `pulumi cancel --stack {stack}`."
        )
    if lock.owner_lives:
        raise CannotRecover(
            f"Stack {stack} is locked by {lock.owner}, which still runs: wait for it, or end it in order with "
            f"`kill -INT {lock.pid}` and run `tpuwright recover` again."
        )
