"""How podrun shows what the hosts say: line by line with labels, folded, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TextIO

from ClusterShell.NodeSet import NodeSet

COLOURS = (36, 33, 32, 35, 34, 31, 96, 93, 92, 95, 94, 91)


@dataclass
class Host:
    """One host of a run, by its short name (w0), and what is known of its command so far."""

    label: str
    name: str
    address: str
    own: bool = False
    state: str = "waiting"  # then exited, unreachable, lost or timed out; see `ended`
    status: int | None = None
    started: bool = False
    lines: list[tuple[str, str]] = field(default_factory=list)  # ("stdout" or "stderr", line), in order of arrival

    def ended(self, code: int | None) -> None:
        """Takes the status of the command, or of ssh where it could not be run; None is a command out of time."""
        if code is None:
            self.state, self.status = "timed out", 124
        elif code == 255 and not self.own and not self.started:
            self.state, self.status = "unreachable", 255
        elif code == 255 and not self.own and self.lines and _ssh_gave_up(self.lines[-1]):
            self.state, self.status = "lost", 255
        else:
            self.state, self.status = "exited", code

    def text(self, stream: str | None = None) -> str:
        """What arrived on one stream, or on both, as it arrived."""
        return "".join(f"{line}\n" for source, line in self.lines if stream in (None, source))

    def failure(self, timeout: float, connect_timeout: int) -> str | None:
        """One sentence for a host whose command did not end with status 0; None for one whose did."""
        if self.state == "exited":
            return f"{self.label}: the command ended with status {self.status}." if self.status else None
        if self.state == "timed out":
            return f"{self.label}: the command was ended after {timeout:g} s, as --timeout asks."
        reason = self.lines[-1][1].removeprefix("ssh: ").strip() if self.lines else "no answer"
        if self.state == "unreachable":
            return (
                f"{self.label}: {self.name} ({self.address}) could not be reached within {connect_timeout} s "
                f"({reason}). If the host was recreated, run site.yml again."
            )
        return f"{self.label}: the connection to {self.name} ({self.address}) was lost while the command ran: {reason}."


def _ssh_gave_up(last: tuple[str, str]) -> bool:
    stream, line = last
    return stream == "stderr" and ("not responding" in line or "closed by" in line or line.startswith("client_loop"))


def paint(label: str, index: int, colour: bool) -> str:
    """A host's label, in a colour of its own on a terminal."""
    return f"\x1b[{COLOURS[index % len(COLOURS)]}m{label}:\x1b[0m" if colour else f"{label}:"


def fold(hosts: Iterable[Host]) -> str:
    """Output of all hosts, those that said the same together, as clubak -b shows it."""
    groups: dict[str, list[str]] = {}
    for host in hosts:
        groups.setdefault(host.text(), []).append(host.label)
    rule = "-" * 15
    blocks = []
    for text, labels in groups.items():
        if text:
            several = f" ({len(labels)})" if len(labels) > 1 else ""
            blocks.append(f"{rule}\n{NodeSet.fromlist(labels)}{several}\n{rule}\n{text}")
    return "".join(blocks)


def summary(command: list[str], status: int, hosts: Iterable[Host]) -> str:
    """The whole run as JSON: command, status (the worst), and for each host state, status, stdout and stderr."""
    document: Mapping[str, Any] = {
        "command": command,
        "status": status,
        "hosts": {
            host.label: {
                "name": host.name,
                "address": host.address,
                "state": host.state,
                "status": host.status,
                "stdout": host.text("stdout"),
                "stderr": host.text("stderr"),
            }
            for host in hosts
        },
    }
    return json.dumps(document, indent=2) + "\n"


class LinePrinter:
    """Prints each line at once behind its host's label."""

    def __init__(self, hosts: list[Host], stdout: TextIO, stderr: TextIO, colour: bool) -> None:
        width = max((len(host.label) for host in hosts), default=0)
        self._labels = {
            host.label: paint(host.label, index, colour) + " " * (width - len(host.label))
            for index, host in enumerate(hosts)
        }
        self._streams = {"stdout": stdout, "stderr": stderr}

    def __call__(self, host: Host, stream: str, line: str) -> None:
        target = self._streams[stream]
        target.write(f"{self._labels[host.label]} {line}\n")
        target.flush()
