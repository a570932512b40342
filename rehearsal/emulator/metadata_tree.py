"""The metadata server's tree: finding a value by path, and writing it down as Google does.

A tree is nested dicts and lists with names as they stand in paths ("network-interfaces", "service-accounts").
Source: https://cloud.google.com/compute/docs/metadata/querying-metadata
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

Node = object
FREE_NAMES = ("attributes", "guest-attributes", "service-accounts")
"""Directories whose entries users name: those names are left as they are in JSON."""
LINES = ("scopes", "aliases")
"""Lists that are written a word a line; others (tags) are JSON."""
ONLY_BY_NAME = ("token", "identity")
"""Never part of a listing's values: a secret is handed out only when it is asked for by its path."""


class NoSuchPath(KeyError):
    """The tree has nothing at the path."""


def find(tree: Node, parts: Sequence[str]) -> Node:
    """The node at a path. Raises NoSuchPath."""
    node = tree
    for part in parts:
        if isinstance(node, Mapping) and part in node:
            node = node[part]
        elif isinstance(node, list) and part.isdecimal() and int(part) < len(node):
            node = node[int(part)]
        else:
            raise NoSuchPath("/".join(parts))
    return node


def is_directory(node: Node, parts: Sequence[str]) -> bool:
    """Whether a path ends in a slash: everything with entries, but not a token, nor a list of words."""
    if isinstance(node, list):
        return any(isinstance(child, Mapping) for child in node)
    return isinstance(node, Mapping) and (not parts or parts[-1] not in ONLY_BY_NAME)


def listing(node: Node) -> str:
    """The names in a directory, a line each, directories with a slash."""
    return "".join(f"{name}/\n" if is_directory(child, [name]) else f"{name}\n" for name, child in _entries(node))


def as_text(node: Node, name: str = "") -> str:
    """A value as it is asked for by its path: text; what is structured, in JSON."""
    if isinstance(node, bool):
        return "TRUE" if node else "FALSE"
    if isinstance(node, list) and name in LINES:
        return "".join(f"{child}\n" for child in node)
    if isinstance(node, Mapping | list):
        return json.dumps(node, separators=(",", ":"))
    return "" if node is None else str(node)


def as_lines(node: Node, prefix: str = "") -> str:
    """A directory with all that is in it, as lines `path value` (recursive=true&alt=text)."""
    lines = []
    for name, child in _entries(node):
        if name in ONLY_BY_NAME:
            continue
        if is_directory(child, [name]):
            lines.append(as_lines(child, f"{prefix}{name}/"))
        else:
            lines += [f"{prefix}{name} {line}\n" for line in as_text(child, name).splitlines()]
    return "".join(lines)


def as_json(node: Node, parts: Sequence[str]) -> object:
    """A directory with all that is in it, for JSON: names in camelCase except where users choose them."""
    if isinstance(node, list):
        return [as_json(child, [*parts, str(index)]) for index, child in enumerate(node)]
    if not isinstance(node, Mapping):
        return node
    if node and all(name == str(index) for index, name in enumerate(node)):
        # Numbered directories are arrays.
        return [as_json(child, [*parts, name]) for name, child in node.items()]
    free = bool(parts) and (parts[-1] in FREE_NAMES or "guest-attributes" in parts)
    return {
        name if free else _camel(name): as_json(child, [*parts, name])
        for name, child in node.items()
        if name not in ONLY_BY_NAME
    }


def _entries(node: Node) -> Iterator[tuple[str, Node]]:
    if isinstance(node, Mapping):
        for name in sorted(node):
            yield str(name), node[name]
    elif isinstance(node, list):
        for index, child in enumerate(node):
            yield str(index), child


def _camel(name: str) -> str:
    first, *others = name.split("-")
    return first + "".join(word[:1].upper() + word[1:] for word in others)
