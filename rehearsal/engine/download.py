"""Pulumi's own release of the engine, language hosts included, as get.pulumi.com's installer unpacks it."""

from __future__ import annotations

import platform
import shutil
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

import httpx

RELEASES = "https://get.pulumi.com/releases/sdk"
_MACHINES = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}


def release_url(version: str, releases: str = RELEASES) -> str:
    """The archive of a version for this machine."""
    system = platform.system().lower()
    return f"{releases}/pulumi-v{version}-{system}-{_MACHINES.get(platform.machine(), platform.machine())}.tar.gz"


def download(version: str, directory: Path, say: Callable[[str], None], releases: str = RELEASES) -> None:
    """Unpack the release into `directory`: pulumi, and its language hosts beside it.

    Raises:
        httpx.HTTPError: it cannot be had. tarfile.TarError: what came is not the archive.
    """
    with tempfile.TemporaryFile() as archive:
        timeout = httpx.Timeout(60, connect=10)
        with httpx.stream("GET", release_url(version, releases), timeout=timeout, follow_redirects=True) as answer:
            answer.raise_for_status()
            size = int(answer.headers.get("Content-Length", 0))
            for chunk in answer.iter_bytes(1 << 20):
                archive.write(chunk)
                share = f" {100 * archive.tell() // size} %" if size else ""
                say(f"downloading Pulumi {version}{share}")
        archive.seek(0)
        with tempfile.TemporaryDirectory(dir=directory) as unpacked, tarfile.open(fileobj=archive) as tar:
            tar.extractall(unpacked, filter="data")
            for program in (Path(unpacked) / "pulumi").iterdir():
                shutil.move(program, directory / program.name)
