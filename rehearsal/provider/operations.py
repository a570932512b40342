"""Waiting for Google's operations, of both kinds, and their errors in the official plugin's words.

The official plugin asks every ten seconds. Here the wait follows the operation's age, so that a rehearsal, in which an
operation may take a moment, is not made of waiting.
"""

import time
from collections.abc import Mapping
from typing import Any

from rehearsal.provider.api import Answer, Api
from rehearsal.provider.errors import GoogleApiError, ProviderError
from rehearsal.provider.links import last_part

_SHORTEST_WAIT, _LONGEST_WAIT = 0.2, 10.0


class OperationError(ProviderError):
    """The operation ended with an error; the text is the plugin's."""


def wait_for(api: Api, style: str, base: str, project: str, operation: Answer, activity: str, timeout: float) -> Answer:
    """Wait until an operation is done; its last answer.

    Args:
        style: `compute` or `long-running`; `none` where the API answers at once.
        base: the service's endpoint, with the slash at its end.
        activity: for the message, as "Creating Vm".
        timeout: seconds.

    Raises:
        OperationError: the operation failed, or did not end in time.
        Cancelled: the engine asked to stop; the operation goes on without us.
    """
    if style == "none" or not operation.get("name"):
        return operation
    started = time.monotonic()
    polled = False
    while True:
        problem = _problem(style, operation)
        if problem:
            raise OperationError(f"Error waiting for {activity}: {problem}" if polled else problem)
        if _is_done(style, operation):
            return operation
        age = time.monotonic() - started
        if age > timeout:
            raise OperationError(
                f"Error waiting for {activity}: timeout while waiting for state to become "
                f"'{'DONE' if style == 'compute' else 'done: true'}' (timeout: {timeout:g}s)"
            )
        api.wait(0.0 if not polled else min(_LONGEST_WAIT, max(_SHORTEST_WAIT, age / 4)))
        polled = True
        try:
            operation = api.request("GET", base + _path(style, project, operation))
        except GoogleApiError as error:
            # An operation may be known to one replica of the API and not yet to another.
            if error.code != 404:
                raise OperationError(
                    f"Error waiting for {activity}: error while retrieving operation: {error}"
                ) from error


def _is_done(style: str, operation: Mapping[str, Any]) -> bool:
    return operation.get("status") == "DONE" if style == "compute" else bool(operation.get("done"))


def _path(style: str, project: str, operation: Mapping[str, Any]) -> str:
    name = operation["name"]
    if style != "compute":
        return str(name)
    for place in ("zone", "region"):
        if operation.get(place):
            return f"projects/{project}/{place}s/{last_part(operation[place])}/operations/{name}"
    return f"projects/{project}/global/operations/{name}"


def _problem(style: str, operation: Mapping[str, Any]) -> str:
    error = operation.get("error")
    if not error:
        return ""
    if style != "compute":
        return f"Error code {error.get('code')}, message: {error.get('message')}"
    return "".join(f"{part.get('message', '')}\n" for part in error.get("errors") or [])
