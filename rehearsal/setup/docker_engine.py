"""The Docker engine: used as it is where one answers, else installed from the distribution and started."""

from __future__ import annotations

import os
import shutil
import stat
from getpass import getuser
from pathlib import Path
from typing import Any

import docker
from docker.errors import DockerException

from rehearsal.setup import apt, docker_daemon
from rehearsal.setup.step import Step, StepFailed, Work

_USUAL = "unix:///var/run/docker.sock"
_PACKAGES = ("docker.io", "iptables")
_ANSWER_SECONDS = 5


class DockerEngine(Step):
    """A daemon on this machine that we may talk to."""

    key = "docker"
    title = "Docker engine"
    why = "the hosts of a rehearsal are containers"

    def look(self) -> str | None:
        endpoint = os.environ.get("DOCKER_HOST") or _USUAL
        if not endpoint.startswith("unix://"):
            raise StepFailed(
                f"DOCKER_HOST is {endpoint}, and a rehearsal needs an engine on this machine (it routes to the hosts)",
                "unset DOCKER_HOST",
            )
        socket = Path(endpoint.removeprefix("unix://"))
        if _is_socket(socket) and not os.access(socket, os.R_OK | os.W_OK):
            raise StepFailed(
                f"{getuser()} may not use the Docker engine at {socket}",
                f"`sudo usermod -aG docker {getuser()}`, then log in again (or `newgrp docker`)",
            )
        info = _info()
        if info is None:
            return None
        if any("rootless" in option for option in info.get("SecurityOptions") or ()):
            raise StepFailed(
                "The Docker engine runs rootless, so this machine has no route to the hosts' addresses",
                "use one that runs as root: `apt-get install docker.io`, and unset DOCKER_HOST",
            )
        return f"{info['ServerVersion']} ({info['Driver']}, cgroup v{info.get('CgroupVersion', '1')})"

    def provide(self, work: Work) -> str:
        installed = _daemon_program() is None
        if installed:
            apt.install(_PACKAGES, work, needed_for=self.title)
        how = "started by its package"
        if not _answers():
            how = docker_daemon.start(work, _answers)
        found = self.look()
        if found is None:
            raise StepFailed("The Docker engine answered and then went away", "`docker info` says why")
        return f"{found}, {'installed and ' if installed else ''}{how}"

    def needs_root(self) -> bool:
        return True


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(path.stat().st_mode)
    except OSError:
        return False


def _daemon_program() -> str | None:
    return shutil.which("dockerd", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


def _answers() -> bool:
    return _info() is not None


def _info() -> dict[str, Any] | None:
    try:
        client = docker.from_env(timeout=_ANSWER_SECONDS)
    except DockerException:
        return None
    try:
        information: dict[str, Any] = client.info()
    except (DockerException, OSError):
        return None
    finally:
        client.close()
    return information
