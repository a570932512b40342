"""The cache of Pulumi engines, shared by all clones of a user: one directory a version, each put in place whole."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tpuwright.pulumi_engine import version_of


class WrongEngine(Exception):
    """What was built or downloaded does not run, or is of another version."""


def keep(binary: Path, version: str, fill: Callable[[Path], None]) -> None:
    """Make `binary` (<cache>/pulumi/<version>/bin/pulumi) exist: `fill` gets an empty directory to put it into.

    Two clones that set up at once share the work: the second waits, then finds it done. Nobody ever sees half an
    engine: the directory is moved into place when the engine in it has told its version.

    Raises:
        WrongEngine: `fill` left no engine of that version. Whatever `fill` raises is passed on.
    """
    shelf = binary.parent.parent
    with _alone(shelf.with_name(f"{shelf.name}.lock")):
        if version_of(binary) == version:
            return
        with tempfile.TemporaryDirectory(prefix=f".{shelf.name}-", dir=shelf.parent) as incoming:
            directory = Path(incoming) / "bin"
            directory.mkdir()
            fill(directory)
            found = version_of(directory / binary.name)
            if found != version:
                raise WrongEngine(f"expected Pulumi {version}, got {found or 'a file that does not run'}")
            shelf.mkdir(exist_ok=True)
            if binary.parent.exists():  # a broken one: a good one was returned above
                shutil.rmtree(binary.parent)
            directory.rename(binary.parent)


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
