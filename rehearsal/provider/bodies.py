"""Requests' bodies from properties."""

from collections.abc import Iterable, Mapping
from typing import Any

from rehearsal.provider.kinds import Kind
from rehearsal.provider.links import relative
from rehearsal.provider.property_types import Property
from rehearsal.provider.values import is_empty

Body = dict[str, Any]
_ZERO: dict[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False, "list": [], "map": {}}


def zero(item: Property) -> Any:
    """The value of a property that is not set; None for objects."""
    return _ZERO.get(item.shape)


def sent_at_creation(kind: Kind) -> list[str]:
    """The properties that a creation's body holds: not the plugin's own, nor those that the path says already."""
    said_by_path = {name for name in ("project", "zone", "region", "router") if f"{{{name}}}" in kind.collection}
    return [
        name
        for name in kind.schema.inputs
        if name not in kind.own_properties and (name not in said_by_path or name in kind.links)
    ]


def body(
    kind: Kind,
    properties: Mapping[str, Any],
    names: Iterable[str],
    zeros: Mapping[str, object],
    scope: Mapping[str, str],
) -> Body:
    """The API's object of the named properties; empty ones only where `zeros` says what to send for them."""
    made: Body = {}
    for name in names:
        value = encode(kind, kind.schema.inputs[name], properties.get(name), scope)
        if is_empty(value):
            if name not in zeros:
                continue
            value = zeros[name]
        _put(made, kind.field_of(kind.schema.inputs[name]).split("."), value)
    return made


def encode(kind: Kind, item: Property, value: Any, scope: Mapping[str, str]) -> Any:
    """One property's value as the API takes it."""
    if value is None:
        return None
    if item.shape == "list" and item.element is not None:
        return [encode(kind, item.element, element, scope) for element in as_list(value)]
    if item.shape == "object" and isinstance(value, Mapping):
        made: Body = {}
        for name, child in item.fields.items():
            encoded = encode(kind, child, value.get(name), scope)
            if child.path in kind.always:
                made[kind.field_of(child)] = zero(child) if encoded is None else encoded
            elif not is_empty(encoded):
                made[kind.field_of(child)] = encoded
        return made
    if item.path in kind.links and isinstance(value, str) and value:
        return relative(value, scope["project"], kind.links[item.path].format(**scope))
    return coerce(item, value)


def coerce(item: Property, value: Any) -> Any:
    """A scalar in the property's own type, as the plugin turns "5" into 5 and "true" into true.

    Raises:
        ValueError: the value is not of the type and does not read as one.
    """
    if item.shape == "boolean":
        if isinstance(value, bool):
            return value
        if value in ("true", "false"):
            return value == "true"
        raise ValueError(f"expected a boolean, got {value!r}")
    if item.shape in ("integer", "number"):
        return _number(item.shape, value)
    if item.shape == "string":
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str | int | float):
            return str(value)
        raise ValueError(f"expected a string, got {value!r}")
    return value


def _number(shape: str, value: Any) -> int | float:
    try:
        number = float("" if isinstance(value, bool) else value)
    except (TypeError, ValueError):
        raise ValueError(f"expected a number, got {value!r}") from None
    if number.is_integer():
        return int(number)
    if shape == "integer":
        raise ValueError(f"expected a whole number, got {value!r}")
    return number


def as_list(value: Any) -> list[Any]:
    """The value as a list: the plugin's schema has lists where the API has one object."""
    return value if isinstance(value, list) else [value]


def _put(body_: Body, path: list[str], value: Any) -> None:
    for step in path[:-1]:
        body_ = body_.setdefault(step, {})
    body_[path[-1]] = value
