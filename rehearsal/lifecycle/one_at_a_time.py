"""One rehearsal at a time in one checkout: a lock that the kernel releases when its owner dies, however it dies."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tpuwright.errors import TpuwrightError


class RehearsalRunning(TpuwrightError):
    """Another process rehearses in this checkout."""


@contextmanager
def only_rehearsal(lock_file: Path) -> Iterator[None]:
    """Hold `lock_file` for as long as the block runs.

    Raises RehearsalRunning, naming the process that holds it and since when.
    The file stays behind: removing a lock file that others may be opening is how two owners come about.
    """
    lock_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with lock_file.open("a+", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RehearsalRunning(_refusal(lock_file)) from None
        handle.seek(0)
        handle.truncate()
        json.dump({"pid": os.getpid(), "since": time.strftime("%H:%M:%S")}, handle)
        handle.flush()
        yield


def _refusal(lock_file: Path) -> str:
    try:
        owner = json.loads(lock_file.read_text(encoding="utf-8"))
        who = f"process {owner['pid']}, since {owner['since']}"
        remedy = f"wait for it, or end it with `kill -INT {owner['pid']}`"
    except (OSError, ValueError, KeyError):
        who, remedy = "another process, just starting", "wait for it"
    return f"A rehearsal already runs in this checkout ({who}), and two would share one stack: {remedy}."
