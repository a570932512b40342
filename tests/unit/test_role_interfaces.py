"""A role's README shows the variables that its argument_specs have, so that nobody reads about others."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def role_tables() -> ModuleType:
    spec = importlib.util.spec_from_file_location("role_tables", REPOSITORY / "docs" / "role_tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_table_of_variables_is_what_the_argument_specs_give(role_tables: Any) -> None:
    names = [str(path.relative_to(REPOSITORY)) for path in role_tables.stale()]
    assert names == [], "run `python docs/role_tables.py`"


def test_a_changed_default_makes_the_table_stale(role_tables: Any) -> None:
    options = {"x_size": {"type": "int", "default": 1, "description": "How big."}}
    readme = role_tables.with_table(f"# x\n{role_tables.BEGIN}\n{role_tables.END}\n", options)
    assert "| `x_size` | int | `1` | How big. |" in readme
    options["x_size"]["default"] = 2
    assert role_tables.with_table(readme, options) != readme


def test_a_readme_without_marks_is_refused(role_tables: Any) -> None:
    with pytest.raises(ValueError, match="no lines"):
        role_tables.with_table("# x\n", {})
