"""Which Pulumi engine serves this project: the pinned version, from PATH or from the user's cache."""

from __future__ import annotations

import os
import subprocess
from importlib.metadata import version
from pathlib import Path

import platformdirs


def pinned_version() -> str:
    """The version that requirements.txt pins for the SDK, as `3.256.0`; the engine has to be the same."""
    return version("pulumi")


def cached_engine() -> Path:
    """Where set-up keeps the engine of the pinned version, there or not: <cache>/pulumi/<version>/bin/pulumi."""
    return platformdirs.user_cache_path("tpuwright") / "pulumi" / pinned_version() / "bin" / "pulumi"


def version_of(binary: Path) -> str | None:
    """What `pulumi version` says, without its leading v; None if the file does not run."""
    try:
        answer = subprocess.run(
            [str(binary), "version"],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip().removeprefix("v")


def engines_on_path() -> list[Path]:
    """Every `pulumi` that PATH leads to, first come first."""
    directories = [Path(entry) for entry in os.environ.get("PATH", "").split(os.pathsep) if entry]
    found = [directory / "pulumi" for directory in directories]
    return [binary for binary in dict.fromkeys(found) if os.access(binary, os.X_OK) and binary.is_file()]


def find_engine() -> Path | None:
    """The engine of the pinned version: one on PATH, else the cached one; None where there is none."""
    wanted = pinned_version()
    cached = cached_engine()
    for binary in engines_on_path():
        if binary == cached or version_of(binary) == wanted:
            return binary
    return cached if os.access(cached, os.X_OK) else None
