"""The inputs of a resource from its state: for an import all that matter, for a refresh those that the program says."""

from collections.abc import Mapping
from typing import Any

from rehearsal.provider.kinds import Kind
from rehearsal.provider.property_types import Property
from rehearsal.provider.values import Properties, is_empty

_DEFAULTS = "__defaults"


def of_import(kind: Kind, state: Mapping[str, Any]) -> Properties:
    """The inputs that a program would need for this resource: what is required, or neither empty nor a default."""
    made = _inputs(kind, kind.schema.inputs, state)
    for one, other in kind.conflicts:
        # The API says both forms of the same thing; a program may say one of them.
        if one in made and other in made:
            del made[one]
    made[_DEFAULTS] = []
    return made


def _inputs(kind: Kind, fields: Mapping[str, Property], state: Mapping[str, Any]) -> Properties:
    made: Properties = {}
    for name, item in fields.items():
        value = state.get(name)
        if value is None or name == "deletionPolicy":
            continue
        value = _value(kind, item, value)
        if item.required or not (is_empty(value) or value == kind.defaults.get(item.path)):
            made[name] = value
    return made


def _value(kind: Kind, item: Property, value: Any) -> Any:
    if item.shape == "object" and isinstance(value, Mapping):
        return _inputs(kind, item.fields, value)
    if item.shape == "list" and item.element is not None and isinstance(value, list):
        return [_value(kind, item.element, element) for element in value]
    return value


def of_refresh(kind: Kind, old_inputs: Mapping[str, Any], state: Mapping[str, Any]) -> Properties:
    """The old inputs with the values of now; what the program did not say stays unsaid."""
    made = {
        name: _refreshed(kind, kind.schema.inputs[name], value, state[name])
        for name, value in old_inputs.items()
        if name in kind.schema.inputs and name in state
    }
    if _DEFAULTS in old_inputs:
        kept = [name for name in old_inputs[_DEFAULTS] if made.get(name) == old_inputs.get(name)]
        made[_DEFAULTS] = kept
    return made


def _refreshed(kind: Kind, item: Property, old: Any, new: Any) -> Any:
    from rehearsal.provider.diff import differ

    if not differ(kind, item, new, old):
        return old
    if item.shape == "object" and isinstance(old, Mapping) and isinstance(new, Mapping):
        return {
            name: _refreshed(kind, item.fields[name], value, new[name])
            for name, value in old.items()
            if name in new and name in item.fields
        }
    if item.shape == "list" and item.element is not None and isinstance(new, list) and isinstance(old, list):
        if item.path in kind.sets:
            return new
        pairs = zip(old, new, strict=False)
        return [_refreshed(kind, item.element, a, b) for a, b in pairs] + new[len(old) :]
    return new
