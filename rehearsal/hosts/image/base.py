"""What is under the host image: Ubuntu 22.04 from a registry, else Debian 12 from the package mirror."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from pathlib import Path

import docker
from docker.errors import DockerException, ImageNotFound
from platformdirs import user_cache_path

from rehearsal.hosts.backend import HostsError

UBUNTU = "ubuntu:22.04"
DEBIAN_SUITE = "bookworm"
DEBIAN_ARCHIVE = "http://deb.debian.org/debian"
REGISTRY_SECONDS = 20
"""How long the registry may take: without one, every second here is a second of the first rehearsal."""

_HERE = Path(__file__).parent
# Unpacked without fsync; what is installed later leaves out what nobody reads in a container.
_DPKG_SETTINGS = """\
force-unsafe-io
path-exclude=/usr/share/doc/*
path-exclude=/usr/share/man/*
path-exclude=/usr/share/info/*
path-exclude=/usr/share/locale/*
"""
_RECIPE = (
    "--variant=apt",
    '--aptopt=APT::Install-Recommends "false"',
    '--aptopt=Acquire::Languages "none"',
    # After the unpacking: given from the start, these slow it down threefold.
    f"--extract-hook=printf '%s' '{_DPKG_SETTINGS}' > \"$1/etc/dpkg/dpkg.cfg.d/tpuwright\"",
    # The machine's own ways out are no property of a fresh host.
    '--customize-hook=rm -f "$1/etc/apt/apt.conf.d/99mmdebstrap"',
    # A fresh TPU VM has package lists.
    "--skip=cleanup/apt/lists",
    "--format=tar",
)
# Of apt's own settings on the machine, those that say how to reach a mirror.
_REACH = re.compile(r'^Acquire::(?:https?|Check-[\w-]+|Retries|ForceIPv[46])(?:::[\w.:/-]*)? "[^"]+";$')

Say = Callable[[str], None]


def package_names() -> list[str]:
    """What the image holds beyond a bare system."""
    return [line for line in (_HERE / "packages.txt").read_text().split("\n") if line and line[0] != "#"]


def base_image(client: docker.DockerClient, say: Say) -> str:
    """The reference of a base image in the engine, pulled or made if need be. Raises HostsError."""
    debian = f"tpuwright-base:{recipe_hash()}"
    for reference in (UBUNTU, debian):
        try:
            client.images.get(reference)
        except ImageNotFound:
            continue
        say(f"base image {reference} is there")
        return reference
    if _pull_ubuntu(client, say):
        return UBUNTU
    _import_debian(client, debian, say)
    return debian


def _pull_ubuntu(client: docker.DockerClient, say: Say) -> bool:
    say(f"pulling {UBUNTU}")
    worker = ThreadPoolExecutor(max_workers=1)
    pull = worker.submit(client.api.pull, UBUNTU)
    try:
        pull.result(timeout=REGISTRY_SECONDS)
        client.images.get(UBUNTU)
    except (DockerException, FutureTimeout) as error:
        explained = getattr(error, "explanation", None) or str(error) or f"no answer within {REGISTRY_SECONDS} s"
        reason = " ".join(str(explained).split())
        say(f"no registry serves {UBUNTU} ({reason}): Debian 12 from the package mirror instead")
        return False
    finally:
        worker.shutdown(wait=False, cancel_futures=True)
    return True


def _import_debian(client: docker.DockerClient, reference: str, say: Say) -> None:
    cached = user_cache_path("tpuwright") / f"debian-{recipe_hash()}.tar"
    if not cached.exists():
        cached.parent.mkdir(parents=True, exist_ok=True)
        part = cached.with_suffix(".part")
        try:
            _bootstrap(part, say)
            part.replace(cached)
            for older in set(cached.parent.glob("debian-*.tar")) - {cached}:
                older.unlink()
        finally:
            part.unlink(missing_ok=True)
    say(f"importing {cached} as {reference}")
    repository, _, tag = reference.partition(":")
    with cached.open("rb") as archive:
        client.api.import_image_from_data(archive, repository=repository, tag=tag)


def _bootstrap(target: Path, say: Say) -> None:
    if shutil.which("mmdebstrap") is None:
        raise HostsError(
            f"No registry serves {UBUNTU} and mmdebstrap, which would make a Debian 12 in its place, is not "
            "installed: run `apt-get install mmdebstrap`, or `make setup`."
        )
    say(f"making Debian 12 with {len(package_names())} packages (about half a minute)")
    command = [
        "mmdebstrap",
        *_RECIPE,
        f"--include={','.join(package_names())}",
        *(f"--aptopt={setting}" for setting in _mirror_settings()),
        DEBIAN_SUITE,
        str(target),
        *_mirrors(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = next((line for line in reversed(done.stderr.splitlines()) if line.startswith("E:")), "no reason given")
        raise HostsError(
            f"mmdebstrap could not make Debian 12 ({reason}): check that `apt-get update` works on this machine."
        )


def _mirrors() -> Iterator[str]:
    """Sources lines: the mirrors of the machine when it runs Debian 12 itself, else Debian's own."""
    listing = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME) $(COMPONENT)", "Created-By: Packages"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    suites = (DEBIAN_SUITE, f"{DEBIAN_SUITE}-updates", f"{DEBIAN_SUITE}-security")
    found = [line.split() for line in listing.splitlines()]
    wanted = [f for f in found if len(f) == 3 and f[1] in suites and f[2] == "main"]
    if not any(suite == DEBIAN_SUITE for _, suite, _ in wanted):
        yield f"deb {DEBIAN_ARCHIVE} {DEBIAN_SUITE} main"
        return
    for uri, suite, _ in wanted:
        yield f"deb {uri} {suite} main"


def _mirror_settings() -> list[str]:
    dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=False).stdout
    return [line.removesuffix(";") for line in dump.splitlines() if _REACH.match(line)]


def recipe_hash() -> str:
    """Of all that makes the base what it is."""
    return hashlib.sha256(repr((_RECIPE, UBUNTU, DEBIAN_SUITE, package_names())).encode()).hexdigest()[:12]
