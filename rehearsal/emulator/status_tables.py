"""`tpuwright emulator status` for people."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table


def print_status(status: dict[str, Any]) -> None:
    """Print what `status --json` holds: the endpoint and its token, then what runs."""
    console = Console(highlight=False)
    facts = Table.grid(padding=(0, 2))
    for label, value in (
        ("endpoint", status["endpoint"]),
        ("IAP relay", status["iap_endpoint"]),
        ("project", status["project"]),
        ("token", status["token"]),
        ("process", f"pid {status['pid']}, {status['memory_bytes'] / 2**20:.0f} MiB, since {status['started']}"),
        ("hosts", f"{status['hosts_backend']}, {_counted(status['hosts'])}"),
    ):
        facts.add_row(label, str(value), style=None)
    console.print(facts)
    _table(
        console,
        "TPU nodes",
        ("node", "state", "health", "type", "addresses"),
        [
            (_short(node), node["state"], node["health"] or "-", node["accelerator_type"], _addresses(node))
            for node in status["nodes"]
        ],
    )
    _table(
        console,
        "queued resources",
        ("name", "state"),
        [(_short(queued), queued["state"]) for queued in status["queued_resources"]],
    )
    _table(
        console,
        "instances",
        ("name", "state"),
        [(_short(instance), instance["state"]) for instance in status["instances"]],
    )
    _table(
        console,
        "subnetworks",
        ("name", "range"),
        [(_short(subnetwork), subnetwork["ip_cidr_range"]) for subnetwork in status["subnetworks"]],
    )
    _table(
        console,
        "running operations",
        ("target", "since"),
        [(operation["target"], operation["since"]) for operation in status["running_operations"]],
    )


def _table(console: Console, title: str, columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    if not rows:
        return
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column)
    for row in rows:
        table.add_row(*row)
    console.print()
    console.print(table)


def _short(item: dict[str, Any]) -> str:
    """ "us-west4-a/pod" of "projects/P/locations/us-west4-a/nodes/pod"."""
    parts = str(item["name"]).split("/")
    return f"{parts[3]}/{parts[-1]}" if len(parts) > 4 else parts[-1]


def _addresses(node: dict[str, Any]) -> str:
    addresses = node["addresses"]
    return f"{addresses[0]} ... {addresses[-1]}" if len(addresses) > 1 else "".join(addresses)


def _counted(hosts: dict[str, str]) -> str:
    states = sorted(set(hosts.values()))
    return ", ".join(f"{list(hosts.values()).count(state)} {state}" for state in states) or "none made"
