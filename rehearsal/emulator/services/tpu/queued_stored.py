"""Queued resources in the store: reading, states, rendering for an API version."""

from __future__ import annotations

from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.errors import ApiError
from rehearsal.emulator.handlers import Json
from rehearsal.emulator.services.tpu.capacity import QUEUED_KIND
from rehearsal.emulator.services.tpu.nodes_stored import pruned
from rehearsal.emulator.services.tpu.refusals import not_found

KIND = QUEUED_KIND
ENDED = {"FAILED", "SUSPENDED"}
"""States out of which a queued resource does not come by itself, and in which it still eats quota."""
_DATA = {
    "CREATING": "creatingData",
    "ACCEPTED": "acceptedData",
    "PROVISIONING": "provisioningData",
    "FAILED": "failedData",
    "DELETING": "deletingData",
    "ACTIVE": "activeData",
    "SUSPENDING": "suspendingData",
    "SUSPENDED": "suspendedData",
}


def stored_queued(cloud: Cloud, name: str) -> Json:
    """A queued resource's document. Raises ApiError 404."""
    queued = cloud.store.get(name)
    if queued is None or cloud.store.kind_of(name) != KIND:
        raise not_found(name)
    return queued


def shown_queued(queued: Json, version: str) -> Json:
    """As an API version shows it."""
    return pruned(queued, "QueuedResource", version)


def state_of(cloud: Cloud, name: str) -> str | None:
    """The state, or None when it is gone."""
    queued = cloud.store.get(name)
    return None if queued is None else str(queued["state"]["state"])


def enter(cloud: Cloud, name: str, state: str, *, initiator: str = "SERVICE", error: ApiError | None = None) -> None:
    """Bring a queued resource into a state."""
    shown: Json = {"state": state, "stateInitiator": initiator}
    if state in _DATA:
        shown[_DATA[state]] = {}
    if error is not None:
        shown["failedData"] = {"error": {"code": error.rpc_code, "message": error.message}}
    cloud.store.update(name, state=shown)
