"""Build the host image: once for each content of its inputs, and never twice at the same time."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
from docker.errors import APIError, BuildError, ImageNotFound
from platformdirs import user_cache_path

from rehearsal.hosts.backend import HostsError
from rehearsal.hosts.image.base import Say, base_image, recipe_hash

REPOSITORY = "tpuwright-host"
_HERE = Path(__file__).parent
_CONTEXT = ("Dockerfile", "packages.txt", "install", "boot", "vpc-closed.rules", "guest", "units")
_PROXIES = ("http_proxy", "https_proxy", "no_proxy")


def image_tag() -> str:
    """`tpuwright-host:HASH`, where HASH is of everything that the image is made from."""
    digest = hashlib.sha256(recipe_hash().encode())
    for path in _context_files():
        digest.update(f"{path.relative_to(_HERE)}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return f"{REPOSITORY}:{digest.hexdigest()[:12]}"


def build(client: docker.DockerClient, say: Say) -> str:
    """Build the image unless the engine has it; returns its tag. Raises HostsError."""
    tag = image_tag()
    with _alone():
        try:
            client.images.get(tag)
        except ImageNotFound:
            pass
        else:
            say(f"host image {tag} is there")
            return tag
        base = base_image(client, say)
        say(f"building {tag} on {base}")
        proxies = {name: os.environ[name] for name in _PROXIES if os.environ.get(name)}
        try:
            # The machine's network: a proxy on 127.0.0.1 works too, and an engine without a default bridge.
            client.images.build(
                path=str(_HERE),
                tag=tag,
                buildargs={"BASE": base, **proxies},
                network_mode="host",
                rm=True,
                forcerm=True,
            )
        except BuildError as error:
            output = "".join(str(line.get("stream", "")) for line in error.build_log).strip().splitlines()
            raise HostsError(
                f"The host image could not be built on {base} ({output[-1] if output else error}): "
                "check that the machine reaches its package mirror, then run `make setup` again."
            ) from error
        except APIError as error:
            raise HostsError(f"The Docker engine refused to build the host image: {error.explanation}.") from error
    say(f"host image {tag} is built")
    return tag


def _context_files() -> Iterator[Path]:
    for name in _CONTEXT:
        path = _HERE / name
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and file.suffix != ".pyc":
                yield file


@contextmanager
def _alone() -> Iterator[None]:
    directory = user_cache_path("tpuwright", ensure_exists=True)
    with (directory / "host-image.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
