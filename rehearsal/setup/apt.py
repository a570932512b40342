"""Packages of the distribution, by apt-get."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Sequence

from rehearsal.setup.step import StepFailed, Work, as_root

# Another apt on the machine holds the lock for minutes at most; then waiting on is of no use.
_LOCK_SECONDS = 300
_one_at_a_time = threading.Lock()


def install(packages: Sequence[str], work: Work, *, needed_for: str) -> None:
    """Install `packages`; the lists of packages are fetched where they do not serve.

    Raises:
        StepFailed: no apt-get here, or it failed.
    """
    names = " ".join(packages)
    if shutil.which("apt-get") is None:
        raise StepFailed(
            f"{needed_for} needs the packages {names}, and this machine has no apt-get",
            "install them with its own package manager",
        )
    with _one_at_a_time:
        work.say(f"installing {names}")
        try:
            _apt_get(work, "install", *packages)
        except subprocess.CalledProcessError:
            # Fresh machines have no lists, older ones lists of packages that the mirror no longer has.
            try:
                _apt_get(work, "update")
                _apt_get(work, "install", *packages)
            except subprocess.CalledProcessError:
                raise StepFailed(
                    f"{needed_for} needs the packages {names}, and apt-get failed ({work.last_line()})",
                    f"apt-get update && apt-get install {names}",
                ) from None


def _apt_get(work: Work, verb: str, *packages: str) -> None:
    options = ["--yes", "--no-install-recommends", "-o", f"DPkg::Lock::Timeout={_LOCK_SECONDS}"]
    # `env` inside of sudo, which does not pass the environment on.
    command = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", *options, verb, *packages]
    work.run(as_root(command))
