"""`python -m rehearsal.hosts.image`: build the host image; progress on stdout, one sentence on stderr on failure."""

from __future__ import annotations

import sys
import time

from rehearsal.hosts.backend import HostsError
from rehearsal.hosts.engine import connect
from rehearsal.hosts.image.build import build


def main() -> int:
    """Exit status 0 when the image is there."""
    started = time.monotonic()

    def say(line: str) -> None:
        print(f"{time.monotonic() - started:6.1f} s  {line}", flush=True)

    try:
        build(connect(), say)
    except HostsError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
