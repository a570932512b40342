"""Ours against the manual procedure, in one go on the same machine, image and hosts.

Both start from the bare hosts that `pulumi up` has just made and end with JAX seen on every host (ours: with the whole
verification). Between the two the pod is destroyed and made again, so that neither finds the other's work.

usage: python bench/run.py [--write]     (`make bench`; --write keeps the figures in bench/figures.md)
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import time
from dataclasses import asdict, dataclass
from datetime import date
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from rehearsal.environment import STACK
from rehearsal.lifecycle.leftovers import running_containers
from rehearsal.lifecycle.memory import PeakMemory
from rehearsal.lifecycle.one_at_a_time import only_rehearsal
from rehearsal.lifecycle.steps import Steps
from rehearsal.lifecycle.whole_life import DESTROY, SITE, UP, Rehearsal, refuse_change
from rehearsal.paths import REPOSITORY, rehearsal_paths
from tpuwright.outputs import PodOutput, StackOutputs

FIGURES = Path(__file__).with_name("figures.md")
MANUAL = Path(__file__).with_name("manual_procedure.sh")
JAX_DEFAULTS = REPOSITORY / "roles" / "jax" / "defaults" / "main.yml"


@dataclass
class Figures:
    """Seconds, and MiB; `load` is the machine's one-minute load average before the first figure was taken."""

    up: float
    site: float
    site_again: float
    destroy: float
    manual: float
    peak_memory: float
    peak_emulator: float
    load: float

    @property
    def ratio(self) -> float:
        """The manual procedure's time over ours: bare hosts to JAX seen on every host."""
        return self.manual / self.site


def measure(console: Console) -> Figures:
    """Run both and return the figures; the pod is gone afterwards."""
    load = os.getloadavg()[0]
    paths = rehearsal_paths().make()
    with only_rehearsal(paths.root / "rehearse.lock"):
        life = Rehearsal(console, REPOSITORY, paths)
        steps = life.steps
        with steps.step("Start the embedded cloud"):
            daemon = life.start_cloud()
        memory = PeakMemory(partial(running_containers, daemon.rehearsal), daemon.pid)
        memory.start()
        up = timed(steps, "Create the pod", UP)
        site = timed(steps, "Ours: site.yml on bare hosts", SITE)
        again = time.monotonic()
        with steps.step("Ours again: nothing to change"):
            refuse_change(steps.run(SITE))
        again = time.monotonic() - again
        memory.stop()
        timed(steps, "Destroy", DESTROY)
        timed(steps, "Create the pod again, for the manual procedure", UP)
        with steps.step("Give the bare hosts this machine's CA bundle, as a company's image would"):
            pod = prepare_hosts(steps)
        with steps.step("The manual procedure on bare hosts"):
            manual = float(steps.run(manual_command(paths.ssh_key, pod)).split()[-1])
        destroy = timed(steps, "Destroy", DESTROY)
        steps.run(["tpuwright", "emulator", "stop"])
    return Figures(up, site, again, destroy, manual, memory.peak / 2**20, memory.peak_emulator / 2**20, load)


def timed(steps: Steps, title: str, command: list[str]) -> float:
    """Run `command` as a step; return its seconds."""
    with steps.step(title):
        steps.run(command)
    return steps.timings[-1].seconds


def prepare_hosts(steps: Steps) -> PodOutput:
    """Write the ssh configuration that the procedure uses, and give each host the trust that it cannot do without."""
    steps.run(["ansible-inventory", "-i", "inventories/pod", "--list"], quiet=True)
    outputs = StackOutputs.model_validate_json(steps.run(["pulumi", "stack", "output", "--json"], quiet=True))
    bundle = outputs.cloud.packages.ca_bundle
    pod = next(iter(outputs.pods.values()))
    if bundle:
        place = "sudo tee /etc/ssl/certs/ca-certificates.crt > /dev/null && "
        place += "echo PIP_CERT=/etc/ssl/certs/ca-certificates.crt | sudo tee -a /etc/environment > /dev/null"
        for host in pod.hosts:
            with Path(bundle).open("rb") as content:
                command = ["ssh", "-F", str(ssh_config()), host.name, place]
                subprocess.run(command, stdin=content, check=True, env=dict(steps.environment))
    return pod


def manual_command(key: Path, pod: PodOutput) -> list[str]:
    pinned = re.search(r"^jax_version: [\"']?([\d.]+)", JAX_DEFAULTS.read_text(encoding="utf-8"), re.MULTILINE)
    if pinned is None:
        raise SystemExit(f"{JAX_DEFAULTS} names no jax_version, so the manual procedure has none to install.")
    addresses = [host.internal_ip for host in pod.hosts]
    return [str(MANUAL), str(ssh_config()), str(key), pinned[1], pod.hosts[0].name, *addresses]


def ssh_config() -> Path:
    return REPOSITORY / ".tpuwright" / STACK / "ssh_config"


def rows(figures: Figures) -> list[tuple[str, str, str]]:
    """What is shown: figure, value, target."""
    return [
        ("bare hosts to the end of the verification (ours)", f"{figures.site:.1f} s", ""),
        ("bare hosts to jax.devices() (the manual procedure)", f"{figures.manual:.1f} s", ""),
        ("manual / ours", f"{figures.ratio:.2f}", "at least 2"),
        ("site.yml again, nothing to change", f"{figures.site_again:.1f} s", "at most 30 s"),
        ("pulumi up, from nothing", f"{figures.up:.1f} s", ""),
        ("pulumi destroy", f"{figures.destroy:.1f} s", ""),
        ("peak memory of all of it, four hosts", f"{figures.peak_memory:.0f} MiB", "under 8192"),
        ("peak memory of the emulator", f"{figures.peak_emulator:.0f} MiB", "under 200"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="keep the figures in bench/figures.md")
    write = parser.parse_args().write
    console = Console(highlight=False)
    figures = measure(console)
    table = Table("figure", "value", "target", title="tpuwright against the manual procedure")
    for row in rows(figures):
        table.add_row(*row)
    console.print(table)
    if write:
        FIGURES.write_text(as_markdown(figures), encoding="utf-8")
    console.print_json(json.dumps(asdict(figures)))


def as_markdown(figures: Figures) -> str:
    lines = ["| figure | value | target |", "|-|-:|-|", *(f"| {a} | {b} | {c} |" for a, b, c in rows(figures))]
    return (
        "# Figures\n\n"
        f"One run of `make bench` on {date.today().isoformat()}: {os.cpu_count()} cores, {platform.system()} "
        f"{platform.machine()}, load average {figures.load:.2f} before it. Shared machines are noisy: read the ratio, "
        "which comes from one run on the same hosts, before the seconds.\n\n" + "\n".join(lines) + "\n"
    )


if __name__ == "__main__":
    main()
