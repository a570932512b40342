"""The `fields` parameter: "items(name,status),nextPageToken" or "services/name"."""

from __future__ import annotations

import re
from typing import Any

from rehearsal.emulator.errors import invalid
from rehearsal.emulator.handlers import Json

Selection = dict[str, Any]
_TOKEN = re.compile(r"[^/(),\s]+|[/(),]")


def parse_fields(text: str) -> Selection:
    """A tree of names; an empty tree below a name selects all of it. Raises ApiError 400."""
    tokens = _TOKEN.findall(text)
    selection, rest = _selection(tokens, text)
    if rest or not selection:
        raise invalid(f"Invalid field selection {text}", reason="invalidParameter")
    return selection


def select(value: object, selection: Selection) -> object:
    """The part of a JSON value that a selection names."""
    if not selection:
        return value
    if isinstance(value, list):
        return [select(item, selection) for item in value]
    if not isinstance(value, dict):
        return value
    chosen: Json = {}
    for key, item in value.items():
        inner = selection.get(key, selection.get("*"))
        if inner is not None:
            chosen[key] = select(item, inner)
    return chosen


def _selection(tokens: list[str], text: str) -> tuple[Selection, list[str]]:
    tree: Selection = {}
    while tokens:
        name, tokens = tokens[0], tokens[1:]
        if name in "/(),":
            raise invalid(f"Invalid field selection {text}", reason="invalidParameter")
        branch: Selection = tree.setdefault(name, {})
        while tokens[:1] == ["/"] and len(tokens) > 1:
            branch = branch.setdefault(tokens[1], {})
            tokens = tokens[2:]
        if tokens[:1] == ["("]:
            inner, tokens = _selection(tokens[1:], text)
            if tokens[:1] != [")"]:
                raise invalid(f"Invalid field selection {text}", reason="invalidParameter")
            branch.update(inner)
            tokens = tokens[1:]
        if tokens[:1] != [","]:
            break
        tokens = tokens[1:]
    return tree, tokens
