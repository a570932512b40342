"""Writes the table of variables in each role's README from its argument_specs: `python docs/role_tables.py`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml

ROLES = Path(__file__).resolve().parents[1] / "roles"
BEGIN, END = "<!-- variables: begin (docs/role_tables.py) -->", "<!-- variables: end -->"


def table(options: dict[str, dict[str, Any]]) -> str:
    """A Markdown table of a role's variables."""
    lines = ["| variable | type | default | |", "|-|-|-|-|"]
    for name, option in options.items():
        default = "required" if option.get("required") else f"`{_shown(option.get('default'))}`"
        kind = f"{option['type']} of {option['elements']}" if "elements" in option else option.get("type", "str")
        lines.append(f"| `{name}` | {kind} | {default} | {_description(option)} |")
        for part, inner in (option.get("options") or {}).items():
            needed = ", required" if inner.get("required") else ""
            lines.append(f"| &nbsp;&nbsp;`{part}` | {inner.get('type', 'str')}{needed} | | {_description(inner)} |")
    return "\n".join(lines)


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) and value else json.dumps(value)
    return text.replace("|", "\\|")


def _description(option: dict[str, Any]) -> str:
    text = option.get("description", "")
    return " ".join(text) if isinstance(text, list) else " ".join(str(text).split())


def with_table(readme: str, options: dict[str, dict[str, Any]]) -> str:
    """`readme` with its table replaced. Raises ValueError when it has no marks for one."""
    head, begin, rest = readme.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"there are no lines {BEGIN} and {END}")
    return f"{head}{BEGIN}\n{table(options)}\n{END}{tail}"


def options_of(role: Path) -> dict[str, dict[str, Any]]:
    """What a role's main entry point takes."""
    specs = yaml.safe_load((role / "meta" / "argument_specs.yml").read_text())
    return specs["argument_specs"]["main"].get("options") or {}


def stale(roles: Path = ROLES) -> dict[Path, str]:
    """README to what should stand there, for every role whose table is not up to date."""
    found = {}
    for specs in sorted(roles.glob("*/meta/argument_specs.yml")):
        role = specs.parents[1]
        readme = role / "README.md"
        if readme.exists() and BEGIN in readme.read_text():
            wanted = with_table(readme.read_text(), options_of(role))
            if wanted != readme.read_text():
                found[readme] = wanted
    return found


if __name__ == "__main__":
    for path, content in stale().items():
        path.write_text(content)
        print(f"wrote {path}", file=sys.stderr)
