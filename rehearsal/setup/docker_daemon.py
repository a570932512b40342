"""Starting a Docker daemon where none answers: through systemd, else directly, in the background."""

from __future__ import annotations

import grp
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import platformdirs
import psutil

from rehearsal.setup.step import StepFailed, Work, as_root

START_SECONDS = 90
_SYSTEMD_RUNS = Path("/run/systemd/system")
_LAST_WORDS = re.compile(r"^failed to start daemon: (.+)$", re.MULTILINE)
_MESSAGE = re.compile(r'level=(?:fatal|error) msg="((?:[^"\\]|\\.)*)"')


def start(work: Work, answers: Callable[[], bool]) -> str:
    """Start the daemon and wait until it answers; return how, in a few words.

    Raises:
        StepFailed: it did not start, or does not answer; with the reason that it gave.
    """
    if _SYSTEMD_RUNS.is_dir():
        return _start_by_systemd(work, answers)
    return start_directly(work, answers, daemon_log())


def daemon_log() -> Path:
    """Where a daemon that set-up starts without systemd writes."""
    return platformdirs.user_cache_path("tpuwright") / "dockerd.log"


def start_directly(work: Work, answers: Callable[[], bool], log: Path, program: str = "dockerd") -> str:
    """Start `program` in a session of its own, so that it outlives this one; its output goes to `log`."""
    found = shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    if found is None:
        raise StepFailed(f"There is no {program} on this machine", "apt-get install docker.io")
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("", encoding="utf-8")
    # The socket belongs to the group of who runs set-up: membership of `docker` would count only after a new login.
    group = grp.getgrgid(os.getgid()).gr_name
    # The shell ends at once; setsid parts the daemon from this terminal and becomes it, so the pid is the daemon's.
    # It calls iptables and modprobe, which are not on everybody's PATH.
    script = 'log=$1; shift; PATH=$PATH:/usr/sbin:/sbin setsid "$@" >>"$log" 2>&1 </dev/null & echo $!'
    command = ["sh", "-c", script, "sh", str(log), found, "--group", group]
    work.say(f"starting {program}, log in {log}")
    launched = subprocess.run(as_root(command), stdout=subprocess.PIPE, text=True, check=True)
    pid = int(launched.stdout)
    if not _wait(answers, lambda: _lives(pid)):
        died = f"did not answer in {START_SECONDS} s" if _lives(pid) else "ended"
        raise StepFailed(
            f"The Docker daemon {died} ({_reason(log)}; its log is {log})", f"`{found}` shows what it lacks"
        )
    return f"started as process {pid}, log in {log}"


def _start_by_systemd(work: Work, answers: Callable[[], bool]) -> str:
    work.say("starting docker.service")
    try:
        work.run(as_root(["systemctl", "start", "docker.service"]))
    except subprocess.CalledProcessError:
        raise StepFailed(
            f"docker.service did not start ({work.last_line()})", "`journalctl -u docker.service` says why"
        ) from None
    if not _wait(answers, lambda: True):
        raise StepFailed(
            f"docker.service runs and does not answer in {START_SECONDS} s", "`journalctl -u docker.service` says why"
        )
    return "started by systemd"


def _wait(answers: Callable[[], bool], lives: Callable[[], bool]) -> bool:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if answers():
            return True
        if not lives():
            return False
        time.sleep(0.2)  # between two looks at the condition
    return False


def _lives(pid: int) -> bool:
    try:
        # A dead process stays as a zombie where the machine's first process collects no orphans, as in a container.
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _reason(log: Path) -> str:
    text = log.read_text(encoding="utf-8", errors="replace")
    said = _LAST_WORDS.findall(text) or _MESSAGE.findall(text) or [line for line in text.splitlines() if line.strip()]
    return said[-1].replace('\\"', '"').strip() if said else "it said nothing"
