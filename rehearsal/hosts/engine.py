"""The connection to the Docker engine."""

from __future__ import annotations

from pathlib import Path

import docker
from docker.errors import DockerException

from rehearsal.hosts.backend import EngineUnavailable


def connect(timeout: float = 60) -> docker.DockerClient:
    """A client of the engine that DOCKER_HOST, or the usual socket, leads to. Raises EngineUnavailable."""
    try:
        client = docker.from_env(timeout=int(timeout))
        client.ping()
    except DockerException as error:
        raise unavailable() from error
    return client


def unavailable() -> EngineUnavailable:
    """What a user is told when no engine answers."""
    return EngineUnavailable(
        "No Docker engine answers at DOCKER_HOST or /var/run/docker.sock: start it "
        "(`systemctl start docker`, or `make setup`, which installs and starts one)."
    )


def resolvers() -> tuple[str, ...]:
    """The name servers that the engine asks on behalf of containers, as far as this machine's files tell."""
    # With systemd-resolved the first file names only its local stub, and the engine reads the second, as we do.
    for path in (Path("/etc/resolv.conf"), Path("/run/systemd/resolve/resolv.conf")):
        if not path.exists():
            continue
        words = [line.split() for line in path.read_text().splitlines()]
        servers = tuple(word[1] for word in words if len(word) > 1 and word[0] == "nameserver" and ":" not in word[1])
        if servers and not all(server.startswith("127.") for server in servers):
            return tuple(server for server in servers if not server.startswith("127."))
    # What the engine falls back to.
    return ("8.8.8.8", "8.8.4.4")
