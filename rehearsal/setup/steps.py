"""The steps of set-up, in the order in which they are shown."""

from __future__ import annotations

from rehearsal.setup.docker_engine import DockerEngine
from rehearsal.setup.host_image import HostImage
from rehearsal.setup.pulumi import GcpPlugin, PulumiEngine
from rehearsal.setup.step import Step
from rehearsal.setup.system_tools import SshClient


def all_steps() -> list[Step]:
    """New ones: a step remembers nothing."""
    return [SshClient(), DockerEngine(), PulumiEngine(), GcpPlugin(), HostImage()]
