"""The connection to the Docker engine."""

from __future__ import annotations

import docker
from docker.errors import DockerException

from rehearsal.hosts.backend import EngineUnavailable


def connect(timeout: float = 60) -> docker.DockerClient:
    """A client of the engine that DOCKER_HOST, or the usual socket, leads to. Raises EngineUnavailable."""
    try:
        client = docker.from_env(timeout=int(timeout))
        client.ping()
    except DockerException as error:
        raise EngineUnavailable(
            "No Docker engine answers at DOCKER_HOST or /var/run/docker.sock: start it "
            "(`systemctl start docker`, or `make setup`, which installs and starts one)."
        ) from error
    return client
