"""A user's own part of the accounts: reads key lines as JSON on stdin, and brings ~/.ssh/authorized_keys up to date.

Run as that user, so that a link which they put into their home cannot lead root elsewhere.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

MARK = "# Added by Google"
"""Stands on the line before each key that is ours; a key without it belongs to somebody else and stays."""


def merge(existing: str, keys: list[str]) -> str:
    """authorized_keys with our keys replaced by `keys` and all other lines as they are."""
    kept = []
    ours = False
    for line in existing.splitlines():
        if ours:
            ours = False
        elif line == MARK:
            ours = True
        else:
            kept.append(line)
    for key in keys:
        kept += [MARK, key]
    return "".join(line + "\n" for line in kept)


def write_own_keys(keys: list[str]) -> None:
    """Replace this process's user's keys that are ours, in one step; nothing is written when nothing changes."""
    directory = Path.home() / ".ssh"
    directory.mkdir(mode=0o700, exist_ok=True)
    path = directory / "authorized_keys"
    existing = path.read_text() if path.exists() else ""
    wanted = merge(existing, keys)
    if wanted == existing:
        return
    handle, name = tempfile.mkstemp(dir=directory, prefix="authorized_keys.")
    with os.fdopen(handle, "w") as file:
        file.write(wanted)
    Path(name).replace(path)


if __name__ == "__main__":
    write_own_keys(json.load(sys.stdin))
