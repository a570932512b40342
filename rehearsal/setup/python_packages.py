"""The virtual environment: exactly what requirements.txt locks, by hash, and this project in place.

Run by setup.sh as `.venv/bin/python -m rehearsal.setup.python_packages`. Standard library only.
"""

from __future__ import annotations

import configparser
import fcntl
import json
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rehearsal.setup.package_sources import package_sources

REPOSITORY = Path(__file__).resolve().parents[2]
LOCK = REPOSITORY / "requirements.txt"

_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)")


def locked_versions(lock_text: str) -> dict[str, str]:
    """Versions by normalised name, as the lock pins them."""
    pins = (_PINNED.match(line) for line in lock_text.splitlines())
    return {_normalised(pin[1]): pin[2] for pin in pins if pin}


def installed_versions(site_packages: Path) -> dict[str, str]:
    """Versions by normalised name, read from the names of *.dist-info directories: a look of a millisecond."""
    names = (entry.name.removesuffix(".dist-info") for entry in site_packages.glob("*.dist-info"))
    pairs = (name.rpartition("-") for name in names)
    return {_normalised(name): version for name, _, version in pairs}


def differences() -> list[str]:
    """What the environment lacks, one clause each; [] when it is what the lock and pyproject.toml say."""
    missing = _missing(LOCK.read_text(encoding="utf-8"))
    return [f"{name} {version}" for name, version in missing] + _project_differences(_site_packages())


def install(log: Path) -> None:
    """Make the environment equal to the lock; what pip and uv say goes to `log`.

    Raises:
        subprocess.CalledProcessError: pip or uv could not; the end of `log` says why.
    """
    lock_text = LOCK.read_text(encoding="utf-8")
    python = str(Path(sysconfig.get_path("scripts")) / "python")
    uv = [str(Path(python).with_name("uv")), "pip"]
    to_here = ["--python", python]
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "VIRTUAL_ENV": sys.prefix}
    with log.open("w", encoding="utf-8") as output:

        def run(*command: str) -> None:
            told = sources.for_uv(environment) if sources else environment
            where = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": output}
            subprocess.run(command, check=True, env=told, cwd=REPOSITORY, **where)  # type: ignore[call-overload]

        sources = None
        if "uv" in {name for name, _ in _missing(lock_text)}:
            with tempfile.NamedTemporaryFile("w", suffix=".txt") as uv_lock:
                uv_lock.write(requirement_of("uv", lock_text))
                uv_lock.flush()
                run(python, "-m", "pip", "install", "--require-hashes", "--no-deps", "-r", uv_lock.name)
        sources = package_sources()
        run(*uv, "sync", *to_here, "--require-hashes", str(LOCK))
        # The lock holds setuptools, so building the project in place downloads nothing.
        in_place = ["--no-deps", "--no-build-isolation", "--editable", str(REPOSITORY)]
        run(*uv, "install", *to_here, *in_place)


def requirement_of(name: str, lock_text: str) -> str:
    """The lines of one requirement with its hashes, cut out of a lock."""
    lines = lock_text.splitlines(keepends=True)
    start = next(number for number, line in enumerate(lines) if line.startswith(f"{name}=="))
    end = start + 1
    while end < len(lines) and lines[end].lstrip().startswith("--hash"):
        end += 1
    return "".join(lines[start:end])


def main() -> int:
    """Install what differs and say so in one line; exit status 1 with one sentence where it cannot be had."""
    start = time.monotonic()
    with _one_at_a_time():
        missing = differences()
        if not missing:
            return 0
        shown = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
        print(f"Python packages: installing {shown} (the project's code and its tools run on them) …", flush=True)
        log = Path(sys.prefix) / "setup.log"
        try:
            install(log)
        except subprocess.CalledProcessError:
            reason = _last_line(log)
            print(
                f"The Python packages of requirements.txt could not be installed ({reason}; all of it in {log}): "
                "name a package index that this machine reaches with `pip config set global.index-url URL` "
                "and run `make setup` again.",
                file=sys.stderr,
            )
            return 1
    if still := differences():
        print(f"The Python environment still lacks {', '.join(still)}; see {log}.", file=sys.stderr)
        return 1
    print(f"Python packages: as locked, after {time.monotonic() - start:.0f} s")
    return 0


def _project_differences(site_packages: Path) -> list[str]:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    own = site_packages / f"{project['name']}-{project['version']}.dist-info"
    try:
        url = json.loads((own / "direct_url.json").read_text(encoding="utf-8"))["url"]
        declared = configparser.ConfigParser(delimiters=("=",), interpolation=None)
        declared.optionxform = str  # type: ignore[assignment,method-assign]
        declared.read_string((own / "entry_points.txt").read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError):
        return ["this project itself"]
    wanted = {"console_scripts": project["scripts"], **project["entry-points"]}
    if url != REPOSITORY.as_uri():
        return ["this project itself (another checkout is installed)"]
    if {section: dict(declared[section]) for section in declared.sections()} != wanted:
        return ["this project's commands as pyproject.toml now names them"]
    return []


def _missing(lock_text: str) -> list[tuple[str, str]]:
    installed = installed_versions(_site_packages())
    return [pin for pin in locked_versions(lock_text).items() if installed.get(pin[0]) != pin[1]]


def _site_packages() -> Path:
    return Path(sysconfig.get_path("purelib"))


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _last_line(log: Path) -> str:
    lines = [line.lstrip(" │├╰─▶") for line in log.read_text(encoding="utf-8", errors="replace").splitlines()]
    return next((line for line in reversed(lines) if line), "no output")


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    with (Path(sys.prefix) / "setup.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    sys.exit(main())
