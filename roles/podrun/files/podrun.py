#!/usr/bin/env python3
"""podrun: run a command on every host of this pod at once. Written by tpuwright's role podrun; see podrun --help."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

from ClusterShell.NodeSet import NodeSet, NodeSetException
from podrun_launch import launch
from podrun_output import Host, LinePrinter, fold, summary

FACTS = Path("/etc/tpuwright/pod.json")
EXAMPLES = """\
One argument is run by bash, several are run exactly as they are:
  podrun -- python train.py --steps 100      the same program on every host (~/venv and /etc/environment apply)
  podrun 'df -h / | tail -1'                 a line for bash
  podrun -cw -- python train.py              clean up after a crash first, run in this directory
  podrun --others -- sudo reboot             all but this host
  podrun --gather -- pip freeze              the same output shown once
  podrun --hosts w0,w2 --timeout 60 -- ls    some hosts, for a minute at most

Exit status: the worst of all hosts; 124 when the time was up, 255 when a host could not be reached, 130 after Ctrl-C.
"""


class Refused(Exception):
    """podrun cannot do what was asked; its text is one sentence for the user."""


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line; `command` is what stands behind the options, or behind `--`."""
    parser = argparse.ArgumentParser(
        prog="podrun",
        description="Run a command on every host of this pod at once, each line labelled by its worker.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="podrun [OPTIONS] [--] COMMAND [ARGUMENT ...]",
    )
    own = parser.add_mutually_exclusive_group()
    own.add_argument("-i", "--include-local", action="store_true", help="this host too (the default)")
    own.add_argument("--others", action="store_true", help="all hosts but this one")
    parser.add_argument("--hosts", metavar="LIST", help="only these, such as w0,w2 or w[0-3]")
    parser.add_argument("-c", "--clean", action="store_true", help="first remove stale TPU locks and logs from /tmp")
    parser.add_argument("-w", "--cwd", action="store_true", help="run in the current directory, not the home directory")
    parser.add_argument("-e", "--env", action="append", default=[], metavar="NAME[=VALUE]", help="set a variable there")
    parser.add_argument("--timeout", type=_seconds, default=0.0, metavar="S", help="end the command after S seconds")
    parser.add_argument(
        "--connect-timeout", type=int, default=10, metavar="S", help="give up on a host after S seconds (10)"
    )
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("-g", "--gather", action="store_true", help="show output at the end, equal ones once")
    shown.add_argument("--json", action="store_true", help="print one JSON document at the end, and nothing else")
    parser.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    # argparse treats `--` differently from version to version: what stands behind the first one is the command
    split = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:split])
    options.command += arguments[split if options.command else split + 1 :]
    if not options.command:
        parser.error("there is no command to run; write it behind the options.")
    return options


def _seconds(text: str) -> float:
    value = float(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"{text} is not a time; give seconds above 0")
    return value


def read_facts(path: Path) -> dict[str, Any]:
    """The facts of the pod. Raises Refused when they are missing or cut short."""
    try:
        facts: dict[str, Any] = json.loads(path.read_text())
        facts["pod"], facts["name"], facts["members"]
    except FileNotFoundError:
        raise Refused(f"{path} is missing, so the pod's hosts are unknown; run site.yml on this pod.") from None
    except (ValueError, KeyError) as error:
        raise Refused(f"{path} cannot be read ({error}); run site.yml on this pod.") from None
    return facts


def choose(facts: dict[str, Any], only: str | None, others: bool) -> list[Host]:
    """The hosts to run on, in the order of the pod. Raises Refused for a name not in the pod, or nobody left."""
    hosts = [
        Host(
            label=member["name"].removeprefix(f"{facts['pod']}-"),
            name=member["name"],
            address=member["internal_ip"],
            own=member["name"] == facts["name"],
        )
        for member in facts["members"]
    ]
    if only is not None:
        try:
            wanted = set(NodeSet(only))
        except NodeSetException as error:
            raise Refused(f"--hosts {only} cannot be read ({error}); write w0,w2 or w[0-3].") from None
        unknown = wanted - {host.label for host in hosts} - {host.name for host in hosts}
        if unknown:
            known = NodeSet.fromlist([host.label for host in hosts])
            raise Refused(f"--hosts names {NodeSet.fromlist(sorted(unknown))}, but this pod has {known}.")
        hosts = [host for host in hosts if {host.label, host.name} & wanted]
    hosts = [host for host in hosts if not (others and host.own)]
    if not hosts:
        raise Refused("no host is left to run on: --others leaves out this one, and there is no other.")
    return hosts


def variables(settings: list[str]) -> dict[str, str]:
    """What -e sets: NAME=VALUE, or NAME with the value that it has here. Raises Refused when it has none."""
    found = {}
    for setting in settings:
        name, separator, value = setting.partition("=")
        if not separator and name not in os.environ:
            raise Refused(f"-e {name}: there is no variable {name} here; write {name}=VALUE.")
        found[name] = value if separator else os.environ[name]
    return found


def run(options: argparse.Namespace) -> int:
    """Runs the command line `options`; returns the exit status. Raises Refused."""
    facts = read_facts(FACTS)
    hosts = choose(facts, options.hosts, options.others)
    job = {
        "command": options.command,
        "directory": str(Path.cwd()) if options.cwd else None,
        "environment": variables(options.env),
        "clean": options.clean,
        "venv": facts.get("venv", "venv"),
    }
    live = not (options.gather or options.json)
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    show = LinePrinter(hosts, sys.stdout, sys.stderr, colour) if live else lambda *_: None
    launch(hosts, job, show, timeout=options.timeout, connect_timeout=options.connect_timeout)
    status = max(host.status if host.status is not None else 255 for host in hosts)
    if options.json:
        sys.stdout.write(summary(options.command, status, hosts))
        return status
    if options.gather:
        sys.stdout.write(fold(hosts))
        sys.stdout.flush()
    for host in hosts:
        failure = host.failure(options.timeout, options.connect_timeout)
        if failure:
            print(f"podrun: {failure}", file=sys.stderr)
    return status


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def main() -> int:
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup asked for that
            signal.signal(number, _interrupt)
    try:
        return run(parse(sys.argv[1:]))
    except Refused as refusal:
        print(f"podrun: {refusal}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("podrun: interrupted; the command was told to end on every host.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever read the output has gone, as with `podrun ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


if __name__ == "__main__":
    sys.exit(main())
