"""Operations that a killed Pulumi command left open in a stack's state, and what the cloud says of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from tpuwright.errors import TpuwrightError
from tpuwright.recovery.identity import Identity, identity

Fetch = Callable[[str, str], dict[str, Any] | None]
"""(service, path) -> the resource as the API has it, or None where it answers 404."""

_UNSETTLED = {"CREATING", "PROVISIONING", "STAGING", "PENDING"}


class Verdict(Enum):
    """What to do about one pending operation."""

    IMPORT = "exists in the cloud: taken into the state"
    CLEAR = "was not made: forgotten, the next `pulumi up` makes it"
    REFRESH = "read again from the cloud"


class NotOurs(TpuwrightError):
    """What the cloud has under the name is another stack's: taking it over would be theft."""


@dataclass(frozen=True)
class Pending:
    """One pending operation: `kind` is creating, updating, deleting, reading or importing."""

    urn: str
    kind: str
    where: Identity | None

    @property
    def name(self) -> str:
        return self.urn.rsplit("::", 1)[-1]


def pending_operations(deployment: Mapping[str, Any], defaults: Mapping[str, str]) -> list[Pending]:
    """The pending operations of an exported deployment (`pulumi stack export`), in its order."""
    found = []
    for operation in deployment.get("deployment", {}).get("pending_operations") or []:
        resource = operation["resource"]
        where = identity(resource["type"], resource.get("inputs") or {}, defaults)
        found.append(Pending(resource["urn"], operation["type"], where))
    return found


def judge(pending: Pending, fetch: Fetch, stack: str, *, patience_seconds: float = 900) -> Verdict:
    """Match one pending operation with what the API has.

    A resource that is still coming up is waited for, up to `patience_seconds`, since a state imported too early would
    lack its addresses. Raises NotOurs when it carries the label of another stack.
    """
    if pending.kind != "creating":
        return Verdict.REFRESH
    if pending.where is None:
        return Verdict.CLEAR
    found = _settled(pending.where, fetch, patience_seconds)
    if found is None:
        return Verdict.CLEAR
    owner = (found.get("labels") or {}).get("tpuwright-stack")
    if owner is not None and owner != stack:
        raise NotOurs(
            f"{pending.where.path} exists, but its label tpuwright-stack says that it belongs to stack '{owner}', "
            f"not to '{stack}': delete it there, or give this stack's resource another name."
        )
    return Verdict.IMPORT


def _settled(where: Identity, fetch: Fetch, patience_seconds: float) -> dict[str, Any] | None:
    deadline = time.monotonic() + patience_seconds
    while True:
        found = fetch(where.service, where.path)
        if found is not None and where.part is not None:
            collection, name = where.part
            found = next((item for item in found.get(collection) or [] if item.get("name") == name), None)
        state = (found or {}).get("state") or (found or {}).get("status")
        if state not in _UNSETTLED or time.monotonic() > deadline:
            return found
        time.sleep(1)
