"""The peak of memory that a rehearsal takes: our processes (resident sets) and the host containers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import psutil

_INTERVAL_SECONDS = 2.0


class PeakMemory:
    """Samples in the background until stopped; figures in bytes.

    Processes: the resident set of this process, all its descendants and the emulator. Containers: what their
    cgroup counts, less the page cache that the kernel would give back (as `docker stats` shows it).
    """

    def __init__(self, containers: Callable[[], list[str]], emulator_pid: int | None) -> None:
        self._containers = containers
        self._emulator_pid = emulator_pid
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample_until_stopped, daemon=True)
        self.peak = 0
        self.peak_emulator = 0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> int:
        """End the sampling; return the peak in bytes."""
        self._stop.set()
        self._thread.join(timeout=10)
        return self.peak

    def _sample_until_stopped(self) -> None:
        while not self._stop.is_set():
            emulator = _resident(self._emulator_pid) if self._emulator_pid else 0
            total = _family_resident() + emulator + sum(map(container_memory, self._containers()))
            self.peak, self.peak_emulator = max(self.peak, total), max(self.peak_emulator, emulator)
            self._stop.wait(_INTERVAL_SECONDS)


def container_memory(container_id: str) -> int:
    """Bytes that a container holds, page cache left out; 0 for one that has gone. cgroup v2 or v1."""
    unified = Path("/sys/fs/cgroup")
    candidates = (
        (unified / f"system.slice/docker-{container_id}.scope", "memory.current", "inactive_file"),
        (unified / f"docker/{container_id}", "memory.current", "inactive_file"),
        (unified / f"memory/docker/{container_id}", "memory.usage_in_bytes", "total_inactive_file"),
        (
            unified / f"memory/system.slice/docker-{container_id}.scope",
            "memory.usage_in_bytes",
            "total_inactive_file",
        ),
    )
    for directory, usage, cache in candidates:
        try:
            used = int((directory / usage).read_text())
            stat = dict(line.split() for line in (directory / "memory.stat").read_text().splitlines())
            return max(used - int(stat.get(cache, 0)), 0)
        except (OSError, ValueError):
            continue
    return 0


def _resident(pid: int) -> int:
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0


def _family_resident() -> int:
    me = psutil.Process()
    return _resident(me.pid) + sum(_resident(child.pid) for child in me.children(recursive=True))
