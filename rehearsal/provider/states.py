"""The state of a resource (its outputs) from the API's answer."""

import json
from collections.abc import Mapping
from typing import Any

from rehearsal.provider import labels
from rehearsal.provider.bodies import as_list, coerce, zero
from rehearsal.provider.kinds import Kind
from rehearsal.provider.links import last_part, stable
from rehearsal.provider.property_types import Property
from rehearsal.provider.values import Properties

# The API takes this and never gives it back, so the state keeps what the program said.
_UNREAD = {"params"}


def state(kind: Kind, answer: Mapping[str, Any], known: Mapping[str, Any], scope: Mapping[str, str]) -> Properties:
    """All properties of a resource.

    Args:
        answer: the API's object.
        known: the inputs (after a creation) or the state so far: what the API does not give back is taken from it.
        scope: project, zone and region of the resource.
    """
    made: Properties = {}
    for name, item in kind.schema.inputs.items():
        if name in kind.own_properties or name in _UNREAD:
            if name in known:
                made[name] = known[name]
            continue
        value = _decode(kind, item, _at(answer, kind.field_of(item)), known.get(name))
        if value is not None:
            made[name] = value
    for name in kind.schema.outputs_only:
        value = _output(_at(answer, kind.api.get(name, name)))
        if value is not None:
            made[name] = value
    if kind.labels:
        made.update(labels.in_state(dict(answer.get("labels") or {}), known))
    made["deletionPolicy"] = known.get("deletionPolicy", "DELETE")
    for name in ("project", "zone", "region", "router"):
        if name in kind.schema.inputs and f"{{{name}}}" in kind.collection:
            made[name] = scope[name]
    return made


def _decode(kind: Kind, item: Property, value: Any, known: Any) -> Any:
    # An object with nothing in it is no object: the plugin leaves it out of the state.
    if value is None or (item.shape == "object" and value == {}):
        return zero(item)
    if item.shape == "list" and item.element is not None:
        return _list(kind, item, as_list(value), known)
    if item.shape == "object" and isinstance(value, Mapping):
        before = known if isinstance(known, Mapping) else {}
        made = {}
        for name, child in item.fields.items():
            found = _decode(kind, child, value.get(kind.field_of(child)), before.get(name))
            # A key of encryption is never given back.
            if child.secret:
                found = before.get(name)
            if found is not None:
                made[name] = found
        return made
    if item.path in kind.names and isinstance(value, str):
        return last_part(value)
    if item.is_scalar and kind.is_reference(item.path) and isinstance(value, str):
        return stable(value)
    return coerce(item, value)


def _list(kind: Kind, item: Property, values: list[Any], known: Any) -> list[Any]:
    element = item.element
    assert element is not None
    before = known if isinstance(known, list) else []
    pairs = zip(values, before + [None] * len(values), strict=False)
    made = [_decode(kind, element, value, old) for value, old in pairs]
    if item.path in kind.sets and sorted(map(_key, made)) == sorted(map(_key, before)):
        return before
    return made


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _output(value: Any) -> Any:
    if isinstance(value, str):
        return stable(value)
    return value


def _at(answer: Mapping[str, Any], path: str) -> Any:
    value: Any = answer
    for step in path.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value
