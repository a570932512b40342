"""Ansible's inventory of a tpuwright stack; the work is done in tpuwright.inventory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin

DOCUMENTATION = r"""
name: tpuwright
short_description: The pods of the selected Pulumi stack
description:
  - Reads the exports of the selected Pulumi stack and asks Google's API for the addresses and states of now.
  - Writes C(ssh_config) and C(known_hosts) of the stack, with the host keys that the hosts published.
options:
  plugin:
    description: Must be C(tpuwright).
    type: str
    required: true
    choices: [tpuwright]
  stack:
    description: The stack to read; by default the selected one (E(PULUMI_STACK) or C(pulumi stack select)).
    type: str
  wait_seconds:
    description: How long to wait for pods that are on their way to READY, and for ssh host keys.
    type: float
    default: 300
"""


class InventoryModule(BaseInventoryPlugin):  # type: ignore[misc]
    """Turns tpuwright's inventory into Ansible's."""

    NAME = "tpuwright"

    def verify_file(self, path: str) -> bool:
        """Only the file that names this plugin: tpuwright.yml."""
        return bool(super().verify_file(path)) and Path(path).name in ("tpuwright.yml", "tpuwright.yaml")

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        """Add groups, hosts and their variables; an error is one sentence."""
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        try:
            from tpuwright.errors import TpuwrightError
            from tpuwright.inventory import load
        except ImportError as error:
            raise AnsibleParserError(
                f"The Python that runs Ansible has no tpuwright ({error}): run `make setup`, and use "
                '.venv/bin/ansible-playbook or `eval "$(tpuwright env STACK)"`.'
            ) from error
        try:
            found = load(
                Path(path).resolve().parent,
                self.get_option("wait_seconds"),
                self.display.display,
                self.get_option("stack"),
            )
        except TpuwrightError as error:
            # Without its cause, as Ansible would print the sentence a second time.
            raise AnsibleParserError(str(error)) from None
        for group, members in found.groups.items():
            self.inventory.add_group(group)
            for name in members:
                self.inventory.add_host(name, group)
        for name, variables in found.hosts.items():
            for key, value in variables.items():
                self.inventory.set_variable(name, key, value)
