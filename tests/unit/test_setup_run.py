"""The order of set-up's steps, what it says, and what it leaves when one cannot succeed."""

from __future__ import annotations

import io
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from rehearsal.setup.board import Board
from rehearsal.setup.run import run
from rehearsal.setup.step import Step, StepFailed, Work


class Scripted(Step):
    """A step that does what a test says."""

    title = why = ""

    def __init__(
        self,
        key: str,
        provide: Callable[[Work], str] = lambda _: "made",
        *,
        there: str | None = None,
        after: tuple[str, ...] = (),
    ) -> None:
        self.key = key  # type: ignore[misc]
        self.title = key.upper()  # type: ignore[misc]
        self.why = f"reason of {key}"  # type: ignore[misc]
        self.after = after  # type: ignore[misc]
        self._there = there
        self._provide = provide
        self.provided = 0

    def look(self) -> str | None:
        return self._there

    def provide(self, work: Work) -> str:
        self.provided += 1
        return self._provide(work)


def run_all(steps: list[Step], logs: Path) -> tuple[dict[str, StepFailed], str]:
    output = io.StringIO()
    console = Console(file=output, width=500, force_terminal=False)
    return run(steps, Board(console, steps), logs), output.getvalue()


def test_what_is_there_is_left_alone_and_said(tmp_path: Path) -> None:
    step = Scripted("docker", there="20.10")
    failures, said = run_all([step], tmp_path)
    assert (failures, step.provided) == ({}, 0)
    assert "✓ DOCKER: 20.10" in said


def test_steps_that_do_not_need_each_other_run_at_the_same_time(tmp_path: Path) -> None:
    both = threading.Barrier(2, timeout=20)

    def meet(_: Work) -> str:
        both.wait()
        return "met"

    failures, _ = run_all([Scripted("engine", meet), Scripted("image", meet)], tmp_path)
    assert failures == {}


def test_a_step_waits_for_those_that_it_needs(tmp_path: Path) -> None:
    order: list[str] = []

    def note(name: str) -> Callable[[Work], str]:
        return lambda _: order.append(name) or name  # type: ignore[func-returns-value]

    steps = [Scripted("image", note("image"), after=("docker",)), Scripted("docker", note("docker"))]
    assert run_all(list(steps), tmp_path)[0] == {}
    assert order == ["docker", "image"]


def test_one_that_fails_takes_along_those_that_need_it_and_no_other(tmp_path: Path) -> None:
    def fail(_: Work) -> str:
        raise StepFailed("No Docker here", "apt-get install docker.io")

    image, other = Scripted("image", after=("docker",)), Scripted("pulumi")
    failures, said = run_all([Scripted("docker", fail), image, other], tmp_path)
    assert str(failures["docker"]) == "No Docker here: apt-get install docker.io"
    assert (image.provided, other.provided) == (0, 1)
    assert "IMAGE: left, as it needs docker" in said


def test_running_again_after_the_mending_does_only_what_is_left(tmp_path: Path) -> None:
    made: set[str] = set()

    class Lasting(Scripted):
        def look(self) -> str | None:
            return "there" if self.key in made else None

    mended = False

    def make(work: Work) -> str:
        key = work.log.stem
        if key == "docker" and not mended:
            raise StepFailed("No Docker", "install it")
        made.add(key)
        return "made"

    steps = [Lasting("docker", make), Lasting("engine", make), Lasting("image", make, after=("docker",))]
    assert set(run_all(list(steps), tmp_path)[0]) == {"docker", "image"}
    mended = True
    assert run_all(list(steps), tmp_path)[0] == {}
    assert [step.provided for step in steps] == [2, 1, 1]


def test_what_a_step_does_and_why_is_said_with_the_time_it_took(tmp_path: Path) -> None:
    def slow(work: Work) -> str:
        work.say("building 3.256.0")
        return "built"

    said = run_all([Scripted("engine", slow)], tmp_path)[1]
    assert "ENGINE: building 3.256.0 - reason of engine" in said
    assert "ENGINE: built (0." in said


def test_output_of_commands_goes_to_the_steps_own_log_and_its_end_into_the_message(tmp_path: Path) -> None:
    def fail(work: Work) -> str:
        try:
            work.run(["sh", "-c", "echo first; echo last words >&2; exit 3"])
        except subprocess.CalledProcessError:
            raise StepFailed(f"It failed ({work.last_line()})", "try") from None
        return "never"

    failures, _ = run_all([Scripted("engine", fail)], tmp_path)
    assert failures["engine"].missing == "It failed (last words)"
    assert "first" in (tmp_path / "engine.log").read_text()


def test_an_error_that_nobody_foresaw_is_one_sentence_with_its_log(tmp_path: Path) -> None:
    def full(_: Work) -> str:
        raise OSError(28, "No space left on device")

    failures, _ = run_all([Scripted("engine", full)], tmp_path)
    assert "No space left on device" in str(failures["engine"])
    assert "Traceback" in (tmp_path / "engine.log").read_text()


@pytest.mark.parametrize("terminal", [True, False])
def test_the_board_is_drawn_with_and_without_a_terminal(tmp_path: Path, terminal: bool) -> None:
    output = io.StringIO()
    steps: list[Step] = [Scripted("engine"), Scripted("docker", there="20.10")]
    run(steps, Board(Console(file=output, width=120, force_terminal=terminal), steps), tmp_path)
    assert "20.10" in output.getvalue()
    assert "made" in output.getvalue()
