"""Recover one stack: the lock, the pending operations, then a refresh that makes the state true again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tpuwright.errors import TpuwrightError
from tpuwright.recovery.locks import Lock, locks_of
from tpuwright.recovery.pending import Fetch, Verdict, judge, pending_operations

Pulumi = Callable[[Sequence[str]], str]
"""Runs `pulumi ARGUMENTS` on the stack and returns its standard output; raises where it fails."""


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

    pending = pending_operations(json.loads(pulumi(["stack", "export", "--stack", stack])), defaults)
    imports: list[str] = []
    for operation in pending:
        verdict = judge(operation, fetch, stack)
        done.settled[operation.urn] = verdict
        say(f"{operation.name} was {operation.kind} when the command died; it {verdict.value}.")
        if verdict is Verdict.IMPORT and operation.where is not None:
            imports += ["--import-pending-creates", operation.urn]
            imports += ["--import-pending-creates", operation.where.import_id]
    if pending:
        pulumi(["refresh", "--yes", "--skip-preview", "--stack", stack, *imports, "--clear-pending-creates"])
    return done


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
