"""The image of a TPU host: built once for each content of its recipe."""

from __future__ import annotations

import shutil
import time

from docker.errors import ImageNotFound

from rehearsal.hosts.backend import EngineUnavailable, HostsError
from rehearsal.hosts.engine import connect
from rehearsal.hosts.image.base import UBUNTU
from rehearsal.hosts.image.build import build, image_tag
from rehearsal.setup import apt
from rehearsal.setup.step import Step, StepFailed, Work


class HostImage(Step):
    """`tpuwright-host:HASH` in the Docker engine."""

    key = "host-image"
    title = "Host image"
    why = "every host of a rehearsal starts from it"
    after = ("docker",)

    def look(self) -> str | None:
        tag = image_tag()
        return tag if _has(tag) else None

    def provide(self, work: Work) -> str:
        if shutil.which("mmdebstrap") is None and not _has(UBUNTU):
            apt.install(["mmdebstrap"], work, needed_for="a base for the host image where no registry serves one")
        start = time.monotonic()

        def say(line: str) -> None:
            work.say(line)
            with work.log.open("a", encoding="utf-8") as log:
                print(f"{time.monotonic() - start:6.1f} s  {line}", file=log)

        try:
            return build(connect(), say)
        except HostsError as error:
            what, _, remedy = str(error).rpartition(": ")
            raise StepFailed(what or str(error), remedy) from error

    def needs_root(self) -> bool:
        return shutil.which("mmdebstrap") is None


def _has(tag: str) -> bool:
    try:
        client = connect(timeout=5)
    except EngineUnavailable:
        return False
    try:
        client.images.get(tag)
    except ImageNotFound:
        return False
    finally:
        client.close()
    return True
