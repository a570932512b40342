"""The `filter` of TPU lists: comparisons of one field with a value, joined by AND or OR."""

from __future__ import annotations

import re

from rehearsal.emulator.errors import invalid
from rehearsal.emulator.handlers import Json

_TERM = re.compile(r"""\s*([\w.]+)\s*(!=|=|:|eq|ne)\s*("[^"]*"|'[^']*'|[^\s()"']+)\s*""")


def matches(item: Json, expression: str | None) -> bool:
    """Whether an item fits: `type=v5litepod-16`, `name:v5 AND type!="v5litepod-1"`. Raises ApiError 400."""
    if not expression or not expression.strip():
        return True
    return any(
        all(_term(item, term, expression) for term in re.split(r"\s+AND\s+", branch))
        for branch in re.split(r"\s+OR\s+", expression)
    )


def _term(item: Json, term: str, expression: str) -> bool:
    found = _TERM.fullmatch(term)
    if found is None:
        raise invalid(f"Invalid filter: {expression}", field="filter")
    name, operator, wanted = found[1], found[2], found[3].strip("\"'")
    value: object = item
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    text = "" if value is None else str(value)
    if operator == ":":
        return wanted.strip("*").lower() in text.lower()
    return (text == wanted) == (operator in {"=", "eq"})
