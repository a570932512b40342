"""The settings of the stack that the engine runs, with what every component needs of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pulumi
from pulumi.runtime import config as pulumi_config

from tpuwright import naming
from tpuwright.settings import Login, Settings, SettingsError, load, read_logins


@dataclass(frozen=True)
class StackSettings:
    """One stack: its settings, its logins with their keys read, and the names and labels of what it makes."""

    stack: str
    project: str
    root: Path
    settings: Settings
    logins: tuple[Login, ...]

    def name(self, *parts: str) -> str:
        """The name in Google's project of something that is neither a pod nor named by Google."""
        return naming.name_of("tpuwright", self.stack, *parts)

    def node(self, pod: str) -> str:
        """The id of a pod's node; it begins with the stack's name, as another stack may have a pod of that name."""
        return naming.name_of(self.stack, pod)

    @property
    def service_account_id(self) -> str:
        return naming.name_of("tpuwright", self.stack, limit=naming.SERVICE_ACCOUNT_ID_LIMIT)

    @property
    def host_tag(self) -> str:
        """Network tag of every TPU host of the stack."""
        return self.name("host")

    @property
    def bastion_tag(self) -> str:
        return self.name("bastion")

    @property
    def labels(self) -> dict[str, str]:
        """Whose it is, on everything that takes labels: leaks are found by them."""
        return {
            **self.settings.labels,
            "tpuwright-stack": naming.label_value(self.stack),
            "tpuwright-project": naming.label_value(self.project),
        }

    @property
    def owner(self) -> str:
        """The description of what takes no labels. Constant, as some descriptions cannot be changed in place."""
        return f"Made by tpuwright for the stack {self.stack} of {self.project}"

    @property
    def ssh_metadata(self) -> dict[str, str]:
        """Instance metadata by which the guest agent makes the logins and publishes the host keys."""
        lines = [f"{login.name}:{key}" for login in self.logins for key in login.keys]
        return {
            "ssh-keys": "\n".join(lines),
            # Host keys become known through the API, so the first connection trusts nothing blindly.
            "enable-guest-attributes": "TRUE",
            # Keys of the whole project would let in people whom this stack does not name.
            "block-project-ssh-keys": "TRUE",
            # Where a project demands OS Login, keys in metadata would be ignored.
            "enable-oslogin": "FALSE",
        }


def read_stack() -> StackSettings:
    """Read the running stack's configuration. A refusal ends the program with its sentences and no traceback."""
    return stack_from(_config(), pulumi.get_stack(), pulumi.get_project(), Path(pulumi.get_root_directory()))


def stack_from(config: Mapping[str, str], stack: str, project: str, root: Path) -> StackSettings:
    """Settings from Pulumi's configuration (``namespace:key`` to string); raises pulumi.RunError."""
    try:
        settings = load(config, root)
    except SettingsError as error:
        raise pulumi.RunError(str(error)) from error
    logins, _ = read_logins(settings.access, root)
    return StackSettings(stack, project, root, settings, tuple(logins))


def _config() -> dict[str, str]:
    # pulumi.Config gives values by key only; an unknown key is found by looking at all of them.
    return {**pulumi_config.get_config_env(), **pulumi_config.CONFIG.get()}
