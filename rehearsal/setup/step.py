"""One step of set-up: how to look whether it is done, and how to do it."""

from __future__ import annotations

import os
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from tpuwright.errors import TpuwrightError


class StepFailed(TpuwrightError):
    """A step cannot succeed here: `missing` says what is missing, `command` what would provide it."""

    def __init__(self, missing: str, command: str) -> None:
        super().__init__(f"{missing.rstrip('.')}: {command}")
        self.missing = missing
        self.command = command


class Work:
    """What a step works with: a log of its own, and a way to say what it does now."""

    def __init__(self, log: Path, say: Callable[[str], None] = lambda _: None) -> None:
        self.log = log
        self.say = say
        log.parent.mkdir(parents=True, exist_ok=True)

    def run(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        directory: Path | None = None,
        timeout_seconds: float | None = None,
    ) -> None:
        """Run a command to its end, its output appended to the log.

        Raises:
            subprocess.CalledProcessError, subprocess.TimeoutExpired, FileNotFoundError: as subprocess.run does.
        """
        with self.log.open("a", encoding="utf-8") as output:
            print("$", *command, file=output, flush=True)
            subprocess.run(
                list(command),
                check=True,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **(environment or {})},
                cwd=directory,
                timeout=timeout_seconds,
            )

    def last_line(self) -> str:
        """The last line of the log that says something, for a message of one sentence."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines() if self.log.exists() else []
        return next((line.strip() for line in reversed(lines) if line.strip()), "no output")


class Step(ABC):
    """Something that a rehearsal needs on this machine."""

    key: ClassVar[str]
    title: ClassVar[str]
    why: ClassVar[str]
    after: ClassVar[tuple[str, ...]] = ()
    """Keys of steps that have to be done before this one is provided."""

    @abstractmethod
    def look(self) -> str | None:
        """What is there, in a few words; None where it has to be provided. Quick, and never from memory.

        Raises:
            StepFailed: it is there in a way that cannot be used, and set-up cannot mend that.
        """

    @abstractmethod
    def provide(self, work: Work) -> str:
        """Provide it; return what is there now, in a few words.

        Raises:
            StepFailed: it cannot be had.
        """

    def needs_root(self) -> bool:
        """Whether providing it may take root rights."""
        return False


def as_root(command: Sequence[str]) -> list[str]:
    """The command, through sudo where we are not root; set-up has asked for the password by then.

    Raises:
        StepFailed: we are not root and there is no sudo.
    """
    if os.geteuid() == 0:
        return list(command)
    if shutil.which("sudo") is None:
        raise StepFailed("Root rights are needed, and there is no sudo here", f"run `{' '.join(command)}` as root")
    return ["sudo", "--non-interactive", *command]
