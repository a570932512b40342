"""Handlers: one coroutine for each method of a discovery document, whatever the API version."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rehearsal.emulator.cloud import Cloud

Json = dict[str, Any]
"""A JSON object. Its values have been checked against Google's discovery document."""


@dataclass(frozen=True)
class Call:
    """One request, checked. Output-only fields and nulls are gone from `body`."""

    method_id: str
    """As in the discovery document: "tpu.projects.locations.nodes.create"."""
    service: str
    version: str
    base_url: str
    """What a resource's name is appended to for its URL here: "http://127.0.0.1:8778/compute/v1/"."""
    path: dict[str, str] = field(default_factory=dict)
    query: dict[str, Any] = field(default_factory=dict)
    """Typed: integers and booleans converted, repeated parameters as lists, absent ones absent."""
    body: Json = field(default_factory=dict)
    caller: str = "rehearsal-user"
    """Whose token was shown: "rehearsal-user", or a service account's address."""


Handler = Callable[[Call, "Cloud"], Awaitable[Json]]


@dataclass(frozen=True)
class Registered:
    """A handler and what is known about its fidelity (see docs/fidelity.md)."""

    method_id: str
    handler: Handler
    checked: str
    differs: str


HANDLERS: dict[str, Registered] = {}
Check = Callable[["Cloud", str], None]
BEFORE_HANDLING: list[Check] = []


def before_handling(check: Check) -> Check:
    """Call `check(cloud, service)` before each request to a service; what it raises is the answer."""
    BEFORE_HANDLING.append(check)
    return check


def operation(method_id: str, *, checked: str = "", differs: str = "") -> Callable[[Handler], Handler]:
    """Register a coroutine as the handler of a discovery method.

    `checked` says against what the behaviour was checked, beyond the discovery document's schemas;
    `differs` the known differences from Google. Both end up in docs/fidelity.md.
    """

    def register(handler: Handler) -> Handler:
        if method_id in HANDLERS:
            raise ValueError(f"{method_id} has two handlers; an operation is emulated in one place.")
        HANDLERS[method_id] = Registered(method_id, handler, checked, differs)
        return handler

    return register
