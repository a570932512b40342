"""Which properties are secrets: those that the plugin's schema says, and the labels that the plugin makes."""

from collections.abc import Mapping
from typing import Any

from rehearsal.provider.kinds import Kind
from rehearsal.provider.property_types import Property
from rehearsal.provider.values import UNKNOWN, Properties, secret

# Default labels of a provider may be secret, so the plugin hides what it makes of them.
_MADE_OF_LABELS = ("effectiveLabels", "pulumiLabels")


def with_secrets(kind: Kind, properties: Mapping[str, Any]) -> Properties:
    """The properties with what is secret marked."""
    made = _fields(kind.schema.inputs, properties)
    for name in _MADE_OF_LABELS:
        if name in made and made[name] != UNKNOWN:
            made[name] = secret(made[name])
    return made


def _fields(fields: Mapping[str, Property], values: Mapping[str, Any]) -> Properties:
    return {name: _value(fields[name], value) if name in fields else value for name, value in values.items()}


def _value(item: Property, value: Any) -> Any:
    if item.secret and value not in (None, UNKNOWN):
        return secret(value)
    if item.shape == "list" and item.element is not None and isinstance(value, list):
        return [_value(item.element, element) for element in value]
    if item.shape == "object" and isinstance(value, Mapping):
        return _fields(item.fields, value)
    return value
