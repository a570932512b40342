"""The types of the properties, from the official plugin's own schema (`gcp-types.json`)."""

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_DATA = Path(__file__).with_name("gcp-types.json")


@dataclass(frozen=True)
class Property:
    """One property.

    `shape` is string, integer, number, boolean, list, map or object. `element` is set for lists and maps, `fields` for
    objects. `path` names it inside its resource without indices ("networkConfig.subnetwork").
    """

    path: str
    shape: str
    required: bool = False
    replaces: bool = False
    secret: bool = False
    element: "Property | None" = None
    fields: Mapping[str, "Property"] = field(default_factory=dict)

    @property
    def is_scalar(self) -> bool:
        return self.shape in ("string", "integer", "number", "boolean")


@dataclass(frozen=True)
class ResourceSchema:
    """The inputs of a type, and the names of the properties that are only outputs."""

    inputs: Mapping[str, Property]
    outputs_only: tuple[str, ...]


@functools.cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(_DATA.read_text())
    return document


@functools.cache
def schema_of(token: str) -> ResourceSchema:
    """The schema of a type token.

    Raises:
        KeyError: the schema document has no such type.
    """
    record = _document()[token]
    return ResourceSchema(_fields(record["inputs"], ""), tuple(record["outputs_only"]))


def _fields(records: Mapping[str, Any], prefix: str) -> dict[str, Property]:
    return {name: _property(prefix + name, record) for name, record in records.items()}


def _property(path: str, record: Mapping[str, Any]) -> Property:
    kind = record["type"]
    required, replaces, hidden = (bool(record.get(name, False)) for name in ("required", "replaces", "secret"))
    if isinstance(kind, str):
        return Property(path, kind, required, replaces, hidden)
    if isinstance(kind, list):
        return Property(path, "list", required, replaces, hidden, _property(path, {**record, "type": kind[0]}))
    if set(kind) == {"*"}:
        element = Property(path, kind["*"], secret=hidden)
        return Property(path, "map", required, replaces, hidden, element)
    return Property(path, "object", required, replaces, hidden, fields=_fields(kind, path + "."))
