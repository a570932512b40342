"""Run the steps of a rehearsal: what a person would type, shown as it happens, each with its time and its log."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from tpuwright.errors import TpuwrightError

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


class StepFailed(TpuwrightError):
    """A step did not do what it was asked; the message is one sentence for people."""


@dataclass(frozen=True)
class Timing:
    """What one step took, in seconds."""

    title: str
    seconds: float
    ok: bool


@dataclass
class Steps:
    """Runs steps one after another and remembers their times.

    `logs` is a directory: each step writes the whole output of its commands there.
    """

    console: Console
    logs: Path
    environment: Mapping[str, str]
    directory: Path
    timings: list[Timing] = field(default_factory=list)
    _log: Path | None = None

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Announce a step, run the block, print what it took; a failure is timed too and then raised."""
        number = len(self.timings) + 1
        self.logs.mkdir(parents=True, exist_ok=True)
        slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
        self._log = self.logs / f"{number:02d}-{slug}.log"
        self._log.write_text("", encoding="utf-8")
        self.console.print(f"\n[bold cyan]{number}[/] [bold]{escape(title)}[/]")
        started = time.monotonic()
        ok = False
        try:
            yield
            ok = True
        finally:
            took = time.monotonic() - started
            self.timings.append(Timing(title, took, ok))
            mark = "[green]✓[/]" if ok else "[red]✗[/]"
            self.console.print(f"  {mark} {escape(title)} [dim]{took:.1f} s[/]")

    def run(self, command: Sequence[str], *, quiet: bool = False) -> str:
        """Run `command` as a person would, its output shown line by line (or only logged); return it without colours.

        Raises StepFailed, naming the command, its exit status and the log, when it does not exit 0.
        """
        shown = " ".join(command)
        if not quiet:
            self.console.print(f"  [dim]$[/] [bold]{escape(shown)}[/]")
        process = subprocess.Popen(
            command,
            cwd=self.directory,
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            preexec_fn=_end_with_parent,
        )
        lines: list[str] = []
        assert process.stdout is not None
        with (self._log or Path(os.devnull)).open("a", encoding="utf-8") as log:
            log.write(f"$ {shown}\n")
            try:
                for raw in process.stdout:
                    text = Text.from_ansi(raw.rstrip("\n"))
                    lines.append(text.plain)
                    log.write(text.plain + "\n")
                    if text.plain.strip() and not quiet:
                        self.console.print(Text("    ").append_text(text), soft_wrap=True)
                status = process.wait()
            except KeyboardInterrupt:
                # The terminal has sent the same Ctrl-C to the command: let it end in order, as its state matters.
                process.wait()
                raise
        if status != 0:
            raise StepFailed(f"`{shown}` ended with exit status {status}; all that it said is in {self._log}.")
        return "\n".join(lines)

    def summary(self) -> Table:
        """A table of the steps and their times."""
        table = Table(box=None, pad_edge=False, show_header=False)
        for timing in self.timings:
            mark = "[green]✓[/]" if timing.ok else "[red]✗[/]"
            table.add_row(mark, escape(timing.title), f"{timing.seconds:.1f} s")
        table.add_row("", "[bold]in all[/]", f"[bold]{sum(t.seconds for t in self.timings):.1f} s[/]")
        table.columns[2].justify = "right"
        return table


def _end_with_parent() -> None:
    """Ask the kernel to end the command in order (SIGTERM) should this process be killed: no orphan holds the stack."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
