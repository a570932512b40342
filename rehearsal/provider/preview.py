"""What a resource will look like, as far as it can be known before it is made or changed."""

from collections.abc import Mapping
from typing import Any

from rehearsal.provider import labels
from rehearsal.provider.kinds import Kind
from rehearsal.provider.property_types import Property
from rehearsal.provider.scope import Defaults
from rehearsal.provider.values import UNKNOWN, Properties


def of_creation(kind: Kind, inputs: Mapping[str, Any], defaults: Defaults) -> Properties:
    """The properties of a resource to be created: its inputs, and UNKNOWN for what the API will say."""
    made = _known(kind, kind.schema.inputs, inputs)
    for name in kind.schema.outputs_only:
        made[name] = UNKNOWN
    if "project" in kind.schema.inputs and "project" not in inputs:
        made["project"] = defaults.project or UNKNOWN
    if kind.default_zone and "zone" not in inputs:
        made["zone"] = defaults.zone or UNKNOWN
    if kind.labels:
        made.update(_labels(inputs, None))
    made["deletionPolicy"] = inputs.get("deletionPolicy", "DELETE")
    return made


def of_update(kind: Kind, state: Mapping[str, Any], inputs: Mapping[str, Any]) -> Properties:
    """The properties after an update in place: the state, with the inputs laid over it."""
    made = dict(state)
    for name, item in kind.schema.inputs.items():
        if name in inputs:
            made[name] = _over(item, state.get(name), inputs[name])
        elif name not in kind.computed and name not in ("project", "deletionPolicy"):
            made.pop(name, None)
    if kind.labels:
        made.update(_labels(inputs, state))
    return made


def _known(kind: Kind, fields: Mapping[str, Property], given: Mapping[str, Any]) -> Properties:
    made: Properties = {}
    for name, item in fields.items():
        value = given.get(name)
        if value is None:
            if item.path in kind.computed:
                made[name] = UNKNOWN
            continue
        made[name] = _value(kind, item, value)
    return made


def _value(kind: Kind, item: Property, value: Any) -> Any:
    if item.shape == "object" and isinstance(value, Mapping):
        return _known(kind, item.fields, value)
    if item.shape == "list" and item.element is not None and isinstance(value, list):
        return [_value(kind, item.element, element) for element in value]
    return value


def _over(item: Property, old: Any, new: Any) -> Any:
    """An object's parts that the program does not say stay as they are."""
    if item.shape == "object" and isinstance(old, Mapping) and isinstance(new, Mapping):
        return {
            **old,
            **{name: _over(item.fields[name], old.get(name), v) for name, v in new.items() if name in item.fields},
        }
    return new


def _labels(inputs: Mapping[str, Any], state: Mapping[str, Any] | None) -> Properties:
    effective = labels.effective_labels(inputs, state)
    own = UNKNOWN if effective == UNKNOWN else labels.own_labels(inputs)
    return {"effectiveLabels": effective, "pulumiLabels": own}
