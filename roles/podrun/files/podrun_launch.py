"""Starts one job on every host at once, with ClusterShell, and follows it to its end."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ClusterShell.Event import EventHandler
from ClusterShell.NodeSet import NodeSet
from ClusterShell.Task import task_self
from ClusterShell.Worker.Exec import ExecWorker
from podrun_output import Host
from podrun_worker import STARTED

# No shared connection: ending ssh must end the command. A host that dies is noticed within 20 s.
SSH_OPTIONS = "-oControlMaster=no -oControlPath=none -oLogLevel=ERROR -oServerAliveInterval=5 -oServerAliveCountMax=4"
WORKER = f"/usr/bin/python3 -IS {shlex.quote(str(Path(__file__).resolve().with_name('podrun_worker.py')))}"


class Follower(EventHandler):  # type: ignore[misc] # ClusterShell has no types
    """Turns ClusterShell's events into lines and ends of hosts."""

    def __init__(self, hosts: dict[str, Host], show: Callable[[Host, str, str], None]) -> None:
        self._hosts = hosts
        self._show = show

    def ev_read(self, worker: Any, node: str, sname: str, msg: bytes) -> None:  # noqa: ARG002
        host, line = self._hosts[node], msg.decode(errors="replace")
        if line == STARTED and not host.started:
            host.started = True
            return
        host.lines.append((sname, line))
        self._show(host, sname, line)

    def ev_hup(self, worker: Any, node: str, rc: int) -> None:  # noqa: ARG002
        self._hosts[node].ended(rc)

    def ev_close(self, worker: Any, timedout: bool) -> None:
        if timedout:
            for node in worker.iter_keys_timeout():
                self._hosts[node].ended(None)


def launch(
    hosts: list[Host],
    job: dict[str, Any],
    show: Callable[[Host, str, str], None],
    *,
    timeout: float,
    connect_timeout: int,
) -> None:
    """Runs `job` on all `hosts` at the same time and returns when each has ended; `timeout` in seconds, 0 for none.

    Raises KeyboardInterrupt after Ctrl-C: every connection is then closed, which ends the command on every host.
    """
    task = task_self()
    task.set_info("fanout", len(hosts))  # a TPU backend waits for all hosts: none may wait for its turn
    task.set_info("connect_timeout", connect_timeout)
    task.set_info("ssh_options", SSH_OPTIONS)
    task.set_default("stdout_msgtree", False)
    task.set_default("stderr_msgtree", False)
    follower = Follower({host.name: host for host in hosts}, show)
    line = json.dumps(job).encode() + b"\n"
    limit = timeout or None
    others = NodeSet.fromlist([host.name for host in hosts if not host.own])
    workers = []
    if others:
        workers.append(task.shell(WORKER, nodes=others, handler=follower, timeout=limit, stderr=True))
    for own in (host for host in hosts if host.own):
        worker = ExecWorker(own.name, follower, timeout=limit, command=WORKER, stderr=True)
        task.schedule(worker)
        workers.append(worker)
    for worker in workers:
        worker.write(line)  # standard input stays open: its end is what ends the command
    task.resume()
