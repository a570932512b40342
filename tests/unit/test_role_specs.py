"""Each role's defaults and its argument_specs say the same, so that what a user reads is what happens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

ROLES = sorted(role for role in (Path(__file__).resolve().parents[2] / "roles").iterdir() if (role / "tasks").is_dir())


def read(file: Path) -> dict[str, Any]:
    found = yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else None
    return found or {}


def options(role: Path) -> dict[str, dict[str, Any]]:
    main = read(role / "meta" / "argument_specs.yml").get("argument_specs", {}).get("main", {})
    found: dict[str, dict[str, Any]] = main.get("options") or {}
    return found


def public_defaults(role: Path) -> dict[str, Any]:
    return {name: value for name, value in read(role / "defaults" / "main.yml").items() if not name.startswith("__")}


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_every_role_says_what_it_takes(role: Path) -> None:
    assert (role / "meta" / "argument_specs.yml").exists()


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_every_default_is_specified_and_every_optional_argument_has_its_default(role: Path) -> None:
    given = public_defaults(role)
    specified = options(role)
    optional = {name for name, option in specified.items() if not option.get("required") and "default" in option}
    assert given.keys() <= specified.keys(), "defaults without an argument_specs entry"
    assert optional <= given.keys(), "argument_specs with a default that defaults/main.yml has not"


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_defaults_and_specs_name_the_same_values(role: Path) -> None:
    specified = options(role)
    differing = {
        name: (value, specified[name]["default"])
        for name, value in public_defaults(role).items()
        if name in specified and "default" in specified[name] and specified[name]["default"] != value
    }
    assert differing == {}


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_variables_carry_the_name_of_their_role(role: Path) -> None:
    assert [name for name in options(role) if not name.startswith((f"{role.name}_", "tpuwright_"))] == []


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_every_argument_has_a_description(role: Path) -> None:
    assert [name for name, option in options(role).items() if not option.get("description")] == []
