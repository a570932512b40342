"""Locks that a killed Pulumi command leaves in a self-managed backend, and whether their owner still lives."""

from __future__ import annotations

import getpass
import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote, urlparse

import psutil


@dataclass(frozen=True)
class Lock:
    """One lock of a stack, as Pulumi's self-managed ("DIY") backends write it."""

    file: Path
    pid: int
    user: str
    host: str
    since: str

    @property
    def owner(self) -> str:
        return f"process {self.pid} of {self.user} on {self.host}, since {self.since}"

    @property
    def made_here(self) -> bool:
        """True where this machine can tell whether the owner lives."""
        return self.host == socket.gethostname()

    @property
    def owner_lives(self) -> bool:
        """True while the process that took the lock runs; a later process with the same number is not its owner."""
        try:
            born = psutil.Process(self.pid).create_time()
        except psutil.NoSuchProcess:
            return False
        try:
            taken = datetime.fromisoformat(self.since).timestamp()
        except ValueError:
            return True
        return born <= taken + 1


def locks_of(backend_url: str, project: str, stack: str) -> Iterator[Lock]:
    """The locks of `stack` in a `file://` backend; none for a backend that is not a directory of this machine.

    A lock file that cannot be read counts as held by nobody that is known: it is given with pid 0.
    """
    url = urlparse(backend_url)
    if url.scheme != "file":
        return
    root = Path(unquote(url.netloc + url.path)).expanduser()
    for file in sorted((root / ".pulumi/locks/organization" / project / stack).glob("*.json")):
        try:
            said = json.loads(file.read_text(encoding="utf-8"))
            yield Lock(file, int(said["pid"]), str(said["username"]), str(said["hostname"]), str(said["timestamp"]))
        except (OSError, ValueError, KeyError):
            yield Lock(file, 0, getpass.getuser(), socket.gethostname(), "an unknown time")
