"""`python -m tpuwright.iap`: the same as `tpuwright iap-tunnel`, with a parser that loads in no time."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys

from tpuwright.errors import TpuwrightError
from tpuwright.iap.command import tunnel_standard_streams
from tpuwright.iap.errors import Where
from tpuwright.iap.tunnel import DEFAULT_URL


def main() -> int:
    """Exit status 0 when the tunnel ended in order, 1 with one sentence on stderr otherwise."""
    parser = argparse.ArgumentParser(prog="tpuwright iap-tunnel", description="A tunnel through Google's IAP.")
    parser.add_argument("instance")
    parser.add_argument("port", type=int)
    parser.add_argument("--project", required=True)
    parser.add_argument("--zone", required=True)
    parser.add_argument("--url", default=DEFAULT_URL)
    given = parser.parse_args()
    where = Where(given.instance, given.port, given.project, given.zone)
    # ssh ends its ProxyCommand with SIGHUP: that is no error.
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(0))
    try:
        with contextlib.suppress(KeyboardInterrupt, BrokenPipeError, ConnectionResetError):
            asyncio.run(tunnel_standard_streams(where, given.url))
    except TpuwrightError as error:
        print(f"tpuwright iap-tunnel: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
