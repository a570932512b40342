"""The rehearsal itself: from nothing to a verified pod, the same again without a change, and back to nothing."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from rich.console import Console

from rehearsal.emulator.daemon import Daemon, last
from rehearsal.environment import STACK
from rehearsal.lifecycle.kept import explain_kept
from rehearsal.lifecycle.leftovers import left_in_cloud, left_in_docker, running_containers
from rehearsal.lifecycle.memory import PeakMemory
from rehearsal.lifecycle.rehearsal_stack import choose_accelerator, choose_range, ensure_passphrase, write_stack_file
from rehearsal.lifecycle.steps import StepFailed, Steps
from rehearsal.paths import RehearsalPaths
from tpuwright.environment import environment, search_path
from tpuwright.project import stack_file
from tpuwright.report.model import Report, Status

UP = ["pulumi", "up", "--yes", "--skip-preview", "--non-interactive", "--suppress-outputs"]
DESTROY = ["pulumi", "destroy", "--yes", "--skip-preview", "--non-interactive"]
SITE = ["ansible-playbook", "site.yml", "-i", "inventories/pod"]

_RECAP = re.compile(r"^(\S+)\s+: ok=\d+\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Wishes:
    """What may differ from the usual rehearsal; None keeps what the stack file says (or the default)."""

    accelerator_type: str | None = None
    ip_cidr_range: str | None = None
    port: int | None = None


@dataclass
class Rehearsal:
    """One run of the whole life cycle of `stack` in `project`, with the embedded cloud's state under `paths`."""

    console: Console
    project: Path
    paths: RehearsalPaths
    stack: str = STACK
    wishes: Wishes = Wishes()
    steps: Steps = field(init=False)

    def __post_init__(self) -> None:
        commands = search_path([Path(sys.prefix) / "bin"], os.environ.get("PATH", os.defpath))
        self.steps = Steps(self.console, self.paths.root / "logs", {**os.environ, "PATH": commands}, self.project)

    def run(self, *, keep: bool) -> None:
        """Run every step; raises StepFailed at the first that does not hold, with the times printed all the same."""
        memory: PeakMemory | None = None
        try:
            with self.steps.step("Start the embedded cloud"):
                daemon = self.start_cloud()
            memory = PeakMemory(partial(running_containers, daemon.rehearsal), daemon.pid)
            memory.start()
            with self.steps.step("Settle what an earlier run left open"):
                self.steps.run(["tpuwright", "recover", self.stack])
            self._create_and_verify()
            self._repeat_without_change()
            if keep:
                explain_kept(self.console, self.stack)
                return
            self._destroy_and_look(daemon)
        except StepFailed:
            self.console.print(
                "\nWhat was made is still there, to be looked at. `make rehearse` goes on from it; "
                '`eval "$(tpuwright env rehearsal)" && pulumi destroy` removes it.'
            )
            raise
        finally:
            self._say_figures(memory)

    def start_cloud(self) -> Daemon:
        """Start the emulator, write the stack file, make the stack; return what the emulator says of itself."""
        port = ["--port", str(self.wishes.port)] if self.wishes.port is not None else []
        self.steps.run(["tpuwright", "emulator", "start", *port])
        daemon = last(self.paths)
        if daemon is None or daemon.pid is None:
            raise StepFailed(f"The embedded cloud started and is gone again; its log is {self.paths.log}.")
        ensure_passphrase(self.paths)
        self.paths.backend.mkdir(exist_ok=True)
        file = stack_file(self.project, self.stack)
        write_stack_file(file, self.paths, daemon.endpoint, daemon.project)
        if self.wishes.ip_cidr_range:
            choose_range(file, self.wishes.ip_cidr_range)
        if self.wishes.accelerator_type:
            choose_accelerator(file, self.wishes.accelerator_type)
        self.steps.environment = {**os.environ, **environment(self.stack, self.project)}
        stacks = json.loads(self.steps.run(["pulumi", "stack", "ls", "--json"], quiet=True))
        if not any(stack["name"] == self.stack for stack in stacks):
            init = ["pulumi", "stack", "init", self.stack, "--no-select", "--secrets-provider", "passphrase"]
            self.steps.run(init)
        return daemon

    def _create_and_verify(self) -> None:
        with self.steps.step("Create the pod"):
            self.steps.run(UP)
        with self.steps.step("Configure and verify it"):
            report = self.project / ".tpuwright" / self.stack / "report.json"
            report.unlink(missing_ok=True)
            self.steps.run(SITE)
            self.console.print(f"  {proof(report)}")

    def _repeat_without_change(self) -> None:
        with self.steps.step("Create again: nothing may change"):
            self.steps.run([*UP, "--expect-no-changes"])
        with self.steps.step("Configure again: nothing may change"):
            refuse_change(self.steps.run(SITE))

    def _destroy_and_look(self, cloud: Daemon) -> None:
        with self.steps.step("Destroy"):
            self.steps.run(DESTROY)
        with self.steps.step("Look for what is left"):
            token = self.paths.token.read_text(encoding="utf-8").strip()
            left = left_in_cloud(cloud.endpoint, token, cloud.project) + left_in_docker(cloud.rehearsal)
            if left:
                raise StepFailed(f"`pulumi destroy` left {len(left)} behind: {', '.join(left)}.")
            self.console.print("  nothing: no resource in the cloud's API, no container and no network in Docker")
            self.steps.run(["tpuwright", "emulator", "stop"])

    def _say_figures(self, memory: PeakMemory | None) -> None:
        self.console.print()
        self.console.print(self.steps.summary())
        if memory is not None:
            memory.stop()
            peak, emulator = memory.peak / 2**20, memory.peak_emulator / 2**20
            self.console.print(f"  peak memory {peak:.0f} MiB, of it the emulator {emulator:.0f} MiB")


def proof(report_file: Path) -> str:
    """One line of what the verification proved; raises StepFailed where its report is missing or not all green."""
    if not report_file.exists():
        raise StepFailed(f"site.yml ended well but wrote no report at {report_file}, so nothing is proved.")
    report = Report.model_validate_json(report_file.read_text(encoding="utf-8"))
    if report.status in (Status.FAIL, Status.SKIP):
        raise StepFailed(f"The verification failed: {report.summary}")
    return report.summary


def refuse_change(output: str) -> None:
    """Raise StepFailed where the recap of an Ansible run shows a change, or shows no host at all."""
    recap = _RECAP.findall(output)
    if not recap:
        raise StepFailed("The second run of site.yml reached no host, so it proves nothing.")
    if changed := [f"{host} ({count})" for host, count, *_ in recap if count != "0"]:
        raise StepFailed(f"The second run of site.yml changed {', '.join(changed)}, and must change nothing.")
