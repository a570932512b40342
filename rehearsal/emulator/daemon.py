"""The emulator's process as seen from outside: whether it runs, starting it, stopping it, asking it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from typing import Any

import httpx
import psutil
from pydantic import BaseModel, ValidationError

from rehearsal.paths import RehearsalPaths
from tpuwright.errors import TpuwrightError

HOST = "127.0.0.1"
DEFAULT_PORT = 8778
DEFAULT_PROJECT = "tpuwright-rehearsal"
START_SECONDS = 120
"""With Docker, hosts of an earlier run are looked at before the first answer."""
STOP_SECONDS = 30


class Daemon(BaseModel):
    """What `.rehearsal/emulator.json` says: the emulator that runs, or with no pid the one that ran last."""

    pid: int | None
    port: int
    endpoint: str
    iap_endpoint: str
    project: str
    hosts: str
    rehearsal: str
    """The mark of its containers and networks in Docker."""
    started: str

    def write(self, paths: RehearsalPaths) -> None:
        """Replace the file at once, so that a reader never sees half of it."""
        fresh = paths.daemon.with_suffix(".new")
        fresh.write_text(self.model_dump_json(indent=2) + "\n", encoding="utf-8")
        fresh.replace(paths.daemon)


def last(paths: RehearsalPaths) -> Daemon | None:
    """The emulator that runs, or ran last; None if there was none or the file is damaged."""
    try:
        return Daemon.model_validate_json(paths.daemon.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValidationError):
        return None


def running(paths: RehearsalPaths) -> Daemon | None:
    """The emulator that runs now, or None."""
    daemon = last(paths)
    return daemon if daemon is not None and daemon.pid is not None and _is_ours(daemon.pid, paths) else None


def start(
    paths: RehearsalPaths, *, port: int | None = None, hosts: str | None = None, project: str | None = None
) -> Daemon:
    """Start it in the background and wait until it answers. What is not given is as last time.

    Raises TpuwrightError: the port is taken, Docker does not answer, or it ended before it answered.
    """
    before = last(paths)
    port = port or (before.port if before else DEFAULT_PORT)
    hosts = hosts or (before.hosts if before else "docker")
    project = project or (before.project if before else DEFAULT_PROJECT)
    if before is not None and project != before.project and paths.database.exists():
        raise TpuwrightError(
            f"The state in {paths.root} belongs to project {before.project}, not {project}: "
            "run `tpuwright emulator stop --purge` first, or leave --project out."
        )
    paths.make()
    refuse_taken_port(port)
    command = [sys.executable, "-m", "rehearsal.emulator.server", "--directory", str(paths.root)]
    command += ["--port", str(port), "--hosts", hosts, "--project", project]
    with paths.log.open("a", encoding="utf-8") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/"
        )
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            raise TpuwrightError(_last_line(paths) or f"The emulator ended at once; {paths.log} says why.")
        daemon = last(paths)
        if daemon is not None and daemon.pid == process.pid and answers(daemon, paths):
            return daemon
        time.sleep(0.05)
    process.terminate()
    raise TpuwrightError(f"The emulator did not answer within {START_SECONDS} s; {paths.log} says why.")


def stop(paths: RehearsalPaths) -> Daemon | None:
    """End it gracefully; returns what ran, or None when nothing did. Hosts stay.

    Raises TpuwrightError when it does not end.
    """
    daemon = running(paths)
    if daemon is None or daemon.pid is None:
        return None
    os.kill(daemon.pid, signal.SIGTERM)
    end = time.monotonic() + STOP_SECONDS
    while _is_ours(daemon.pid, paths):
        if time.monotonic() > end:
            raise TpuwrightError(
                f"The emulator (pid {daemon.pid}) does not end within {STOP_SECONDS} s: `kill -9 {daemon.pid}` "
                "ends it without harm, as its state is kept."
            )
        time.sleep(0.05)
    return daemon


def answers(daemon: Daemon, paths: RehearsalPaths) -> bool:
    """Whether it accepts our token."""
    try:
        return client(daemon, paths, timeout=5).get("/_emulator/status").status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


def client(daemon: Daemon, paths: RehearsalPaths, timeout: float = 600) -> httpx.Client:
    """An HTTP client of the emulator that shows its token. A proxy of the machine's is not asked."""
    token = paths.token.read_text(encoding="ascii").strip()
    return httpx.Client(
        base_url=daemon.endpoint, headers={"Authorization": f"Bearer {token}"}, timeout=timeout, trust_env=False
    )


def ask(paths: RehearsalPaths, method: str, path: str, body: object = None) -> dict[str, Any]:
    """One request to the emulator's own API. Raises TpuwrightError when it does not run, or refuses."""
    daemon = running(paths)
    if daemon is None:
        raise TpuwrightError("The emulator does not run: `tpuwright emulator start` starts it.")
    try:
        answer = client(daemon, paths).request(method, f"/_emulator/{path}", json=body)
    except httpx.HTTPError as error:
        raise TpuwrightError(
            f"The emulator (pid {daemon.pid}) does not answer at {daemon.endpoint}: {error or type(error).__name__}; "
            f"{paths.log} may say why, and `tpuwright emulator stop` ends it."
        ) from error
    content: dict[str, Any] = answer.json()
    if answer.is_error:
        raise TpuwrightError(str(content["error"]["message"]))
    return content


def refuse_taken_port(port: int) -> None:
    """Raise TpuwrightError when another program listens on the port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise TpuwrightError(
                f"Port {port} is taken by another program ({os.strerror(error.errno or 0)}): "
                "stop that, or start the emulator on another one with --port."
            ) from error


def _is_ours(pid: int, paths: RehearsalPaths) -> bool:
    """Whether that process is the emulator of this directory: pids are used again."""
    try:
        process = psutil.Process(pid)
        command = process.cmdline()
        return process.status() != psutil.STATUS_ZOMBIE and _MODULE in command and str(paths.root) in command
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False


_MODULE = "rehearsal.emulator.server"


def _last_line(paths: RehearsalPaths) -> str:
    lines = paths.log.read_text(encoding="utf-8", errors="replace").splitlines()
    return next((line for line in reversed(lines) if line.strip()), "")
