"""`python -m rehearsal.setup`: the steps behind `make setup`, once the Python packages are there."""

from __future__ import annotations

import subprocess
import sys
import time

import platformdirs
from rich.console import Console
from rich.text import Text

from rehearsal.setup.board import Board
from rehearsal.setup.run import needs_password, run
from rehearsal.setup.steps import all_steps


def main() -> int:
    """Exit status 0 when everything is there; 1 with a sentence for each thing that cannot be had."""
    start = time.monotonic()
    console = Console(highlight=False)
    steps = all_steps()
    logs = platformdirs.user_cache_path("tpuwright") / "setup"
    if needs_password(steps):
        console.print("Set-up installs packages or starts Docker, which takes root rights:")
        subprocess.run(["sudo", "--validate"], check=False)
    failures = run(steps, Board(console, steps), logs)
    seconds = time.monotonic() - start
    if not failures:
        console.print(f"Set-up: all there, {seconds:.1f} s")
        return 0
    for step in steps:
        if failure := failures.get(step.key):
            log = logs / f"{step.key}.log"
            where = f" Log: {log}" if log.exists() else ""
            console.print(Text(f"{step.title}: {failure}.{where}", "red"), soft_wrap=True)
    console.print(f"Set-up: not complete after {seconds:.1f} s; `make setup` goes on from here.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
