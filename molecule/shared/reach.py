"""The scenario's hosts for its tests, over the same ssh that Ansible used."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import testinfra
import yaml

DIRECTORY = Path(os.environ["TPUWRIGHT_SCENARIO_DIRECTORY"])


def hosts() -> dict[str, Any]:
    """Host name to testinfra's host, logged in as the scenario's user; sudo is the test's own affair."""
    inventory = yaml.safe_load((DIRECTORY / "inventory" / "hosts.yml").read_text())
    group = inventory["all"]["children"]["tpu_hosts"]["hosts"]
    return {
        name: testinfra.get_host(f"ssh://{variables['ansible_host']}?ssh_config={DIRECTORY}/ssh_config")
        for name, variables in group.items()
    }
