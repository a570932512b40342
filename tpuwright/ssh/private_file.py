"""Files that only their owner reads, replaced whole."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_private(path: Path, text: str, mode: int = 0o600) -> bool:
    """Write ``text`` to ``path`` in one step, mode 0600 in a directory of mode 0700; False when it was there already.

    A reader sees the old or the new file, never half of one. A directory that exists keeps its mode.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.is_file() and path.read_text(encoding="utf-8") == text and path.stat().st_mode & 0o777 == mode:
        return False
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return True
