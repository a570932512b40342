"""Work that goes on after the answer: registered by name, so that a restarted emulator can take it up again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rehearsal.emulator.handlers import Json

if TYPE_CHECKING:
    from rehearsal.emulator.cloud import Cloud


@dataclass(frozen=True)
class Task:
    """The work of one operation. It may be run again after a restart, so every step must be idempotent."""

    operation: str
    """Full name of the operation."""
    target: str
    """Full name of what is worked on."""
    args: Json


Work = Callable[[Task, "Cloud"], Awaitable[Json | None]]
"""Returns the operation's response (None: empty). Raises ApiError, which becomes the operation's error."""
StartHook = Callable[["Cloud"], Awaitable[None]]
MetadataView = Callable[["Cloud", str], Json | None]
"""The metadata tree of the host with a given address, or None if it is not this service's host."""
DeathHook = Callable[["Cloud", str], Awaitable[None]]

WORK: dict[str, Work] = {}
AT_START: list[StartHook] = []
AFTER_START: list[StartHook] = []
METADATA_VIEWS: list[MetadataView] = []
AT_DEATH: list[DeathHook] = []


def background(name: str) -> Callable[[Work], Work]:
    """Register the work of operations that were begun with `work=name`."""

    def register(work: Work) -> Work:
        if name in WORK:
            raise ValueError(f"Background work {name} is registered twice.")
        WORK[name] = work
        return work

    return register


def at_start(hook: StartHook) -> StartHook:
    """Run once whenever the emulator starts, before it serves: make again what hosts need (networks)."""
    AT_START.append(hook)
    return hook


def after_start(hook: StartHook) -> StartHook:
    """Run once after all hooks of `at_start`: take up hosts, timers and queues again."""
    AFTER_START.append(hook)
    return hook


def metadata_view(view: MetadataView) -> MetadataView:
    """Answer the metadata server's question about one host."""
    METADATA_VIEWS.append(view)
    return view


def at_death(hook: DeathHook) -> DeathHook:
    """Called with the key of a host that died and that nobody asked to stop."""
    AT_DEATH.append(hook)
    return hook
