"""A stack's configuration as its file has it, without asking Pulumi, which may be what is broken."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tpuwright.errors import TpuwrightError
from tpuwright.project import known_stacks, stack_file


@dataclass(frozen=True)
class StackConfiguration:
    """What Pulumi.<stack>.yaml says."""

    file: Path
    config: dict[str, str]
    """Keys with their namespace; lists and mappings are JSON, as Pulumi hands them to a program."""
    document: dict[str, Any]
    """The whole file: `secretsprovider`, `encryptionsalt` and `encryptedkey` stand beside `config`."""

    def get(self, key: str) -> str | None:
        """One value, or None where the file has none."""
        return self.config.get(key)


def read_configuration(project: Path, stack: str) -> StackConfiguration:
    """Read a stack's file.

    Raises:
        TpuwrightError: it is missing, or is no YAML mapping.
    """
    file = stack_file(project, stack)
    try:
        document = yaml.safe_load(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        known = ", ".join(known_stacks(project)) or "none yet"
        raise TpuwrightError(
            f"The stack {stack!r} has no settings, as {file.name} is missing (there are: {known}): "
            f"copy Pulumi.example.yaml to {file.name} and change it."
        ) from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise TpuwrightError(f"{file.name} cannot be read ({reason}): correct it.") from error
    if not isinstance(document, dict) or not isinstance(document.get("config"), dict):
        raise TpuwrightError(f"{file.name} has no mapping `config`: write it as in Pulumi.example.yaml.")
    config = {str(key): _as_pulumi(value) for key, value in document["config"].items()}
    return StackConfiguration(file, config, document)


def _as_pulumi(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
