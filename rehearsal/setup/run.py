"""Running the steps of set-up: all look at once; what is missing is provided, side by side where possible."""

from __future__ import annotations

import os
import subprocess
import traceback
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from rehearsal.setup.board import Board, State
from rehearsal.setup.step import Step, StepFailed, Work


def run(steps: Sequence[Step], board: Board, logs: Path) -> dict[str, StepFailed]:
    """Bring every step to its end; the failures by key, empty when all is there.

    A step that waits for a failed one is left; all others still run, so that running again after the mending has the
    least to do. `logs` gets one file a step that had to provide something.
    """
    failures: dict[str, StepFailed] = {}
    with ThreadPoolExecutor(max_workers=len(steps)) as pool, board.shown():
        states = dict(zip(steps, pool.map(lambda step: _look(step, board, failures), steps), strict=True))
        done = {step.key for step, state in states.items() if state is State.THERE}
        todo = [step for step, state in states.items() if state is State.LOOKING]
        running: dict[Future[str], Step] = {}
        while todo or running:
            for step in list(todo):
                awaited = [key for key in step.after if key not in done]
                lost = [key for key in awaited if key in failures]
                if not awaited:
                    running[pool.submit(_provide, step, board, logs)] = step
                elif lost:
                    failures[step.key] = StepFailed(f"It needs {', '.join(lost)}, which is not there", "see above")
                    board.change(step, State.LEFT, f"left, as it needs {', '.join(lost)}")
                else:
                    board.change(step, State.WAITING, f"waits for {', '.join(awaited)}")
                    continue
                todo.remove(step)
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                step = running.pop(future)
                try:
                    board.change(step, State.DONE, future.result())
                    done.add(step.key)
                except StepFailed as failure:
                    failures[step.key] = failure
                    board.change(step, State.FAILED, failure.missing)
    return failures


def needs_password(steps: Sequence[Step]) -> bool:
    """Whether something missing will want root rights that we have not: then sudo asks before the work begins."""
    return os.geteuid() != 0 and any(step.needs_root() and _missing(step) for step in steps)


def _missing(step: Step) -> bool:
    try:
        return step.look() is None
    except StepFailed:
        return False


def _look(step: Step, board: Board, failures: dict[str, StepFailed]) -> State:
    """THERE, FAILED, or LOOKING where it is missing."""
    try:
        found = step.look()
    except StepFailed as failure:
        failures[step.key] = failure
        board.change(step, State.FAILED, failure.missing)
        return State.FAILED
    if found is None:
        return State.LOOKING
    board.change(step, State.THERE, found)
    return State.THERE


def _provide(step: Step, board: Board, logs: Path) -> str:
    log = logs / f"{step.key}.log"
    log.unlink(missing_ok=True)
    work = Work(log, lambda words: board.change(step, State.WORKING, words))
    board.change(step, State.WORKING, "working")
    try:
        return step.provide(work)
    except StepFailed:
        raise
    except (OSError, subprocess.SubprocessError) as error:
        with log.open("a", encoding="utf-8") as output:
            traceback.print_exc(file=output)
        raise StepFailed(f"{step.title} failed unexpectedly ({error})", f"see {log}") from error
