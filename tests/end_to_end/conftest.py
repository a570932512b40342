"""A rehearsal of the tests' own: its stack, state, port and range are apart from those of the person who runs them."""

from __future__ import annotations

import io
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from rich.console import Console

from rehearsal.emulator.daemon import last
from rehearsal.lifecycle.leftovers import left_in_cloud, left_in_docker
from rehearsal.lifecycle.whole_life import DESTROY, SITE, UP, Rehearsal, Wishes
from rehearsal.paths import REPOSITORY, RehearsalPaths
from tpuwright.project import stack_file
from tpuwright.report.model import Report, Status

STACK = "rehearsal-test"
RANGE = "10.201.0.0/16"


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Life:
    """The commands that a user types, on the tests' stack; `say` is what each printed."""

    paths: RehearsalPaths
    environment: dict[str, str] = field(default_factory=dict)
    endpoint: str = ""
    project: str = ""

    def begin(self, accelerator_type: str) -> None:
        """Start the embedded cloud on a free port and make the stack."""
        wishes = Wishes(accelerator_type, RANGE, free_port())
        rehearsal = Rehearsal(Console(file=io.StringIO()), REPOSITORY, self.paths, STACK, wishes)
        with rehearsal.steps.step("begin"):
            daemon = rehearsal.start_cloud()
        self.environment = dict(rehearsal.steps.environment)
        self.endpoint, self.project = daemon.endpoint, daemon.project

    def run(self, command: Sequence[str], *, ok: bool = True, timeout: float = 400) -> str:
        """Run `command` to its end; `ok` says whether it must exit 0 or must not."""
        done = subprocess.run(
            command,
            cwd=REPOSITORY,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert (done.returncode == 0) is ok, f"{' '.join(command)} exited {done.returncode}:\n{done.stdout[-6000:]}"
        return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)

    def up(self, *, ok: bool = True) -> str:
        return self.run(UP, ok=ok)

    def site(self, *, ok: bool = True) -> str:
        # A compiler and the rest of the package list prove nothing here, and take a minute on every new pod.
        return self.run([*SITE, "--extra-vars", '{"packages_names": ["zsh"]}'], ok=ok)

    def destroy(self) -> str:
        return self.run(DESTROY)

    def recover(self) -> str:
        return self.run(["tpuwright", "recover"])

    def kill_when(self, command: Sequence[str], moment: Callable[[str], bool], within: float = 180) -> None:
        """Start `command` and kill -9 it (it alone, as a person would) once `moment` is true of what it has said."""
        log = self.paths.root / "killed.log"
        with log.open("w") as output:
            process = subprocess.Popen(
                command,
                cwd=REPOSITORY,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + within
        while not moment(log.read_text(errors="replace")):
            assert process.poll() is None, f"ended before its moment came:\n{log.read_text()[-4000:]}"
            assert time.monotonic() < deadline, f"its moment never came:\n{log.read_text()[-4000:]}"
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()

    def tell_emulator(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Speak to the emulator's own API under /_emulator."""
        token = self.paths.token.read_text().strip()
        answer = httpx.request(
            method,
            f"{self.endpoint}/_emulator/{path}",
            json=body,
            headers={"Authorization": f"Bearer {token}"},
            timeout=60,
        )
        answer.raise_for_status()
        found: dict[str, Any] = answer.json()
        return found

    def node(self) -> dict[str, Any]:
        """The stack's one node as the API has it now; {} while there is none."""
        token = self.paths.token.read_text().strip()
        answer = httpx.get(
            f"{self.endpoint}/v2alpha1/projects/{self.project}/locations/-/nodes",
            headers={"Authorization": f"Bearer {token}"},
            timeout=60,
        )
        answer.raise_for_status()
        return next(iter(answer.json().get("nodes", [])), {})

    @property
    def report(self) -> Report:
        file = REPOSITORY / ".tpuwright" / STACK / "report.json"
        return Report.model_validate_json(file.read_text(encoding="utf-8"))

    @property
    def verified(self) -> bool:
        return self.report.status is Status.PASS

    def left(self) -> list[str]:
        """What the cloud and Docker still have."""
        token = self.paths.token.read_text().strip()
        daemon = last(self.paths)
        assert daemon is not None
        return left_in_cloud(self.endpoint, token, self.project) + left_in_docker(daemon.rehearsal)


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Life]:
    """The tests' rehearsal; whatever a test left is purged, and the emulator stopped, at the end."""
    root = tmp_path_factory.mktemp("rehearsal")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TPUWRIGHT_REHEARSAL_DIR", str(root))
        patch.setenv("PATH", f"{REPOSITORY / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}")
        stack_file(REPOSITORY, STACK).unlink(missing_ok=True)
        yield Life(RehearsalPaths(root))
        subprocess.run(["tpuwright", "emulator", "stop", "--purge"], cwd=REPOSITORY, check=True)
        stack_file(REPOSITORY, STACK).unlink(missing_ok=True)
