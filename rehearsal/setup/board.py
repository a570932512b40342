"""The progress of set-up on a terminal, and line by line where there is none."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from rehearsal.setup.step import Step


class State(Enum):
    """Where a step stands."""

    LOOKING = auto()
    WAITING = auto()
    WORKING = auto()
    THERE = auto()
    DONE = auto()
    FAILED = auto()
    LEFT = auto()


_MARKS = {
    State.LOOKING: "·",
    State.WAITING: "·",
    State.WORKING: "…",
    State.THERE: "✓",
    State.DONE: "✓",
    State.FAILED: "✗",
    State.LEFT: "-",
}
_COLOURS = {State.THERE: "green", State.DONE: "green", State.FAILED: "red"}


@dataclass
class Row:
    """What is shown of a step."""

    step: Step
    state: State = State.LOOKING
    words: str = ""
    started: float = field(default_factory=time.monotonic)
    seconds: float | None = None
    spinner: Spinner = field(default_factory=lambda: Spinner("dots"))


class Board:
    """One row a step; `change` may be called from any thread."""

    def __init__(self, console: Console, steps: list[Step]) -> None:
        self._console = console
        self._rows = {step.key: Row(step) for step in steps}
        self._lock = threading.Lock()

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the board while the block runs; on a terminal it is drawn anew all the time."""
        if not self._console.is_terminal:
            yield
            return
        with Live(get_renderable=self._drawing, console=self._console, refresh_per_second=8):
            yield

    def change(self, step: Step, state: State, words: str) -> None:
        """A step has come to another state, or says what it does now."""
        with self._lock:
            row = self._rows[step.key]
            if state is State.WORKING and row.state is not State.WORKING:
                row.started = time.monotonic()
            elif state in (State.DONE, State.FAILED):
                row.seconds = time.monotonic() - row.started
            changed = (row.state, row.words) != (state, words)
            row.state, row.words = state, words
            if changed and not self._console.is_terminal and state is not State.WAITING:
                self._console.print(_line(row), soft_wrap=True)

    def _drawing(self) -> Group:
        with self._lock:
            table = Table.grid(padding=(0, 1))
            table.add_column(width=1)
            table.add_column(no_wrap=True)
            table.add_column(ratio=1)
            table.add_column(justify="right", no_wrap=True)
            for row in self._rows.values():
                working = row.state is State.WORKING
                seconds = time.monotonic() - row.started if working else row.seconds
                words = row.words if not working else f"{row.words} ({row.step.why})"
                table.add_row(
                    row.spinner if working else Text(_MARKS[row.state], _COLOURS.get(row.state, "")),
                    row.step.title,
                    Text(words, "dim" if row.state is State.THERE else ""),
                    f"{seconds:.1f} s" if seconds is not None else "",
                )
            return Group(table)


def _line(row: Row) -> Text:
    time_taken = f" ({row.seconds:.1f} s)" if row.seconds is not None else ""
    why = f" - {row.step.why}" if row.state is State.WORKING else ""
    return Text(f"{_MARKS[row.state]} {row.step.title}: {row.words}{why}{time_taken}")
