"""The Pulumi engine: of the pinned version, from PATH, from the cache, downloaded or built; and its gcp plugin."""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import httpx

from rehearsal.engine.build import build, go_program, module_version
from rehearsal.engine.cache import WrongEngine, keep
from rehearsal.engine.download import RELEASES, download
from rehearsal.environment import official_gcp_plugin
from rehearsal.setup.reachable import why_unreachable
from rehearsal.setup.step import Step, StepFailed, Work
from tpuwright.pulumi_engine import cached_engine, find_engine, pinned_version, version_of

_PLUGIN_SITES = ("https://get.pulumi.com/releases/plugins", "https://api.github.com")
_PLUGIN_SECONDS = 600


class PulumiEngine(Step):
    """`pulumi` of exactly the version that requirements.txt pins for the SDK."""

    key = "pulumi"
    title = "Pulumi engine"
    why = "it creates and destroys the stack"

    def look(self) -> str | None:
        binary = find_engine()
        if binary is None or version_of(binary) != pinned_version():
            return None
        return f"{pinned_version()} at {binary}"

    def provide(self, work: Work) -> str:
        wanted, binary = pinned_version(), cached_engine()
        silent = why_unreachable(RELEASES)
        if silent is None:
            try:
                keep(binary, wanted, lambda directory: download(wanted, directory, work.say))
                return f"{wanted} downloaded to {binary}"
            except (httpx.HTTPError, tarfile.TarError, WrongEngine, OSError) as error:
                silent = f"the download from get.pulumi.com failed: {error}"
        self._build(binary, wanted, silent, work)
        return f"{wanted} built from its Go module ({silent}), at {binary}"

    def _build(self, binary: Path, wanted: str, silent: str, work: Work) -> None:
        go = go_program()
        if go is None:
            raise StepFailed(
                f"Pulumi {wanted} is not here, {silent}, and there is no Go to build it with",
                "install Go from https://go.dev/dl/, or Pulumi with "
                f"`curl -fsSL https://get.pulumi.com | sh -s -- --version {wanted}`",
            )
        if module_version() != wanted:
            raise StepFailed(
                f"requirements.txt pins Pulumi {wanted}, and rehearsal/engine/module builds {module_version()}",
                "`make lock` brings them together",
            )

        def run(command: Sequence[str], environment: Mapping[str, str], directory: Path) -> None:
            work.run(command, environment=environment, directory=directory)

        work.say(f"building {wanted} from its Go module: minutes, once ({silent})")
        try:
            keep(binary, wanted, lambda directory: build(go, directory, run))
        except (subprocess.CalledProcessError, WrongEngine, OSError) as error:
            reason = work.last_line() if isinstance(error, subprocess.CalledProcessError) else str(error)
            raise StepFailed(
                f"Pulumi {wanted} could not be built ({reason}), and {silent}",
                "name a module proxy that this machine reaches with `go env -w GOPROXY=URL`",
            ) from error


class GcpPlugin(Step):
    """The official gcp plugin; where it cannot be had, rehearsals run on the stand-in, and that is no failure."""

    key = "gcp-plugin"
    title = "gcp plugin"
    why = "it speaks to the cloud for Pulumi"
    after = ("pulumi",)

    def look(self) -> str | None:
        if official := official_gcp_plugin():
            return f"the official one, {official}"
        silent = _silent_plugin_sites()
        return f"the stand-in, for rehearsals only: {silent}" if silent else None

    def provide(self, work: Work) -> str:
        engine = find_engine()
        if engine is None:
            raise StepFailed("There is no Pulumi engine to install the gcp plugin with", "make setup")
        wanted = version("pulumi-gcp")
        command = [str(engine), "plugin", "install", "resource", "gcp", wanted]
        work.say(f"installing the official plugin {wanted}")
        try:
            work.run(command, environment={"PULUMI_SKIP_UPDATE_CHECK": "true"}, timeout_seconds=_PLUGIN_SECONDS)
        except subprocess.TimeoutExpired:
            return f"the stand-in, for rehearsals only: the official one did not come in {_PLUGIN_SECONDS} s"
        except subprocess.CalledProcessError:
            return f"the stand-in, for rehearsals only: {work.last_line()}"
        return f"the official one, {wanted}"


def _silent_plugin_sites() -> str | None:
    answers = [why_unreachable(site) for site in _PLUGIN_SITES]
    silent = [answer for answer in answers if answer]
    return " and ".join(silent) if len(silent) == len(answers) else None
