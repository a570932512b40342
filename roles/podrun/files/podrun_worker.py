"""The half of podrun that runs on each host: it starts one command, and ends it when podrun lets go.

Its job comes as one line of JSON on standard input; the end of standard input, which also comes when the connection
breaks or podrun is killed, ends the command. Only the standard library is used: the system's Python runs this.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# First line on standard output: the host was reached, what follows is the command's.
STARTED = "\x01podrun: started\x01"
STALE = (Path("/tmp/libtpu_lockfile"), Path("/tmp/tpu_logs"))  # noqa: S108 # where libtpu puts them
GRACE = 5.0  # seconds between SIGTERM and SIGKILL
KEPT = ("HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ")


def parse_environment(text: str) -> dict[str, str]:
    """What /etc/environment sets, read as pam_env reads it: KEY=VALUE lines, `export` and quotes allowed."""
    found = {}
    for line in text.splitlines():
        key, separator, value = line.strip().removeprefix("export ").partition("=")
        if separator and not key.startswith("#"):
            quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
            found[key.strip()] = value[1:-1] if quoted else value
    return found


def command_environment(
    inherited: Mapping[str, str], system: Mapping[str, str], venv: Path | None, extra: Mapping[str, str]
) -> dict[str, str]:
    """The command's variables, the same on every host: identity, /etc/environment, the venv on PATH, podrun's -e."""
    result = {name: inherited[name] for name in KEPT if name in inherited}
    result["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    result["PYTHONUNBUFFERED"] = "1"  # else Python keeps its lines back, as its output is no terminal
    result.update(system)
    if venv is not None:
        result["VIRTUAL_ENV"] = str(venv)
        result["PATH"] = f"{venv}/bin:{result['PATH']}"
    return result | dict(extra)


def lock_holder(path: Path, locks: str) -> int | None:
    """The process that holds a lock on `path`, by the text of /proc/locks; None when nobody does."""
    status = path.stat()
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    for line in locks.splitlines():
        fields = line.split()
        if len(fields) > 5 and fields[5] == device and fields[1] != "->":
            return int(fields[4])
    return None


def remove_stale(paths: tuple[Path, ...] = STALE) -> list[str]:
    """Removes what dead TPU programs left; returns a sentence for each thing that stays, and raises nothing."""
    kept = []
    for path in paths:
        if not path.is_symlink() and not path.exists():
            continue
        holder = lock_holder(path, Path("/proc/locks").read_text()) if path.is_file() else None
        if holder is not None:
            kept.append(f"{path} is in use by process {holder} and was not removed; end that process first.")
        elif not _remove(path):
            kept.append(f"{path} belongs to somebody else and sudo does not allow removing it; ask its owner to.")
    return kept


def _remove(path: Path) -> bool:
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    except OSError:
        subprocess.run(["sudo", "-n", "rm", "-rf", "--", str(path)], stderr=subprocess.DEVNULL, check=False)
    return not path.is_symlink() and not path.exists()


def run(job: Mapping[str, Any]) -> int:
    """Runs the job's command until it ends, or standard input does; returns its status as a shell counts."""
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    for sentence in remove_stale() if job["clean"] else ():
        print(f"podrun: {sentence}", file=sys.stderr)
    venv = home / job["venv"]
    try:
        system = parse_environment(Path("/etc/environment").read_text())
    except FileNotFoundError:
        system = {}
    environment = command_environment(os.environ, system, venv if (venv / "bin").is_dir() else None, job["environment"])
    directory = Path(job["directory"] or home)
    if not directory.is_dir():
        print(f"podrun: there is no directory {directory} on this host.", file=sys.stderr)
        return 1
    command = job["command"] if len(job["command"]) > 1 else ["/bin/bash", "-c", job["command"][0]]
    program = shutil.which(command[0], path=environment["PATH"]) if "/" not in command[0] else command[0]
    if program is None:
        print(f"podrun: {command[0]}: there is no such program on this host.", file=sys.stderr)
        return 127
    try:
        process = subprocess.Popen(
            [*command],
            executable=program,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        print(f"podrun: {command[0]}: {error.strerror}.", file=sys.stderr)
        return 127 if isinstance(error, FileNotFoundError) else 126
    let_go = threading.Event()
    watcher = threading.Thread(target=_end_with_input, args=(process, let_go), daemon=True)
    watcher.start()
    status = process.wait()
    if let_go.is_set():
        watcher.join()  # what the command started and left behind goes with it
    return status if status >= 0 else 128 - status


def _end_with_input(process: subprocess.Popen[bytes], let_go: threading.Event) -> None:
    while os.read(0, 4096):
        pass
    let_go.set()
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)


def main() -> int:
    with os.fdopen(0, "rb", buffering=0, closefd=False) as stream:  # unbuffered: what follows is for the watcher
        line = stream.readline()
    if not line.endswith(b"\n"):  # podrun went away before it could say what to do
        return 1
    print(STARTED, flush=True)
    # The one who watches stands apart from the one who is watched: killing this process, as a local time limit
    # does, would otherwise leave the command running.
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.setsid()
    status = run(json.loads(line))
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    raise SystemExit(main())
