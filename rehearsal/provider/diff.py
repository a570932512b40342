"""Diff: what would change, and does it force a replacement? The state is compared, as the plugin does, not the inputs.

So a difference that a refresh found (drift) shows up here and the next update puts it right.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rehearsal.provider import labels
from rehearsal.provider.bodies import coerce
from rehearsal.provider.images import same_image
from rehearsal.provider.kinds import Kind
from rehearsal.provider.links import same_resource
from rehearsal.provider.property_types import Property
from rehearsal.provider.values import UNKNOWN, has_unknown, is_empty


@dataclass(frozen=True)
class Change:
    """One change. `path` is Pulumi's ("labels.a", "sourceRanges[0]"); `kind` is add, update or delete."""

    path: str
    kind: str
    replaces: bool

    @property
    def property_name(self) -> str:
        """The top-level property that the change is in."""
        return self.path.split(".")[0].split("[")[0]


def changes(
    kind: Kind, state: Mapping[str, Any], inputs: Mapping[str, Any], ignored: tuple[str, ...] = ()
) -> list[Change]:
    """What differs between a resource's state and its new inputs, in the order of the schema.

    Args:
        ignored: paths that the program asked to leave alone (`ignore_changes`).
    """
    found: list[Change] = []
    for name, item in kind.schema.inputs.items():
        found += _compare(kind, item, state.get(name), inputs.get(name), name)
    if kind.labels:
        found += _label_changes(state, inputs)
    return [change for change in found if not _is_ignored(change.path, ignored)]


def _compare(kind: Kind, item: Property, old: Any, new: Any, path: str) -> Iterator[Change]:
    if new is None:
        if item.path not in kind.computed and item.path not in _filled(kind) and not is_empty(old):
            yield Change(path, "delete", _forces(item))
        return
    if has_unknown(new) and (new == UNKNOWN or item.is_scalar):
        yield Change(path, "add" if is_empty(old) else "update", _forces(item))
        return
    if item.shape == "object" and isinstance(new, Mapping):
        yield from _compare_objects(kind, item, old, new, path)
    elif item.shape == "map" and isinstance(new, Mapping):
        before = old if isinstance(old, Mapping) else {}
        for key in sorted({*new, *before}):
            yield from _scalar_change(kind, item, before.get(key), new.get(key), f"{path}{_key_step(key)}")
    elif item.shape == "list" and isinstance(new, list):
        yield from _compare_lists(kind, item, old if isinstance(old, list) else [], new, path)
    else:
        yield from _scalar_change(kind, item, old, new, path)


def _compare_objects(kind: Kind, item: Property, old: Any, new: Mapping[str, Any], path: str) -> Iterator[Change]:
    if not isinstance(old, Mapping):
        if not all(is_empty(value) for value in new.values()):
            yield Change(path, "add", _forces(item))
        return
    for name, child in item.fields.items():
        yield from _compare(kind, child, old.get(name), new.get(name), f"{path}.{name}")


def _compare_lists(kind: Kind, item: Property, old: list[Any], new: list[Any], path: str) -> Iterator[Change]:
    element = item.element
    assert element is not None
    if item.path in kind.sets:
        left = [value for value in new if not any(_same(kind, element, before, value) for before in old)]
        gone = [value for value in old if not any(_same(kind, element, value, now) for now in new)]
        for value in left:
            yield Change(f"{path}[{new.index(value)}]", "update" if gone else "add", _forces(item))
        for value in gone[len(left) :]:
            yield Change(f"{path}[{old.index(value)}]", "delete", _forces(item))
        return
    for index in range(max(len(old), len(new))):
        step = f"{path}[{index}]"
        if index >= len(old):
            yield Change(step, "add", _forces(item))
        elif index >= len(new):
            yield Change(step, "delete", _forces(item))
        else:
            yield from _compare(kind, element, old[index], new[index], step)


def _same(kind: Kind, element: Property, old: Any, new: Any) -> bool:
    return not list(_compare(kind, element, old, new, "x"))


def _scalar_change(kind: Kind, item: Property, old: Any, new: Any, path: str) -> Iterator[Change]:
    if _equal(kind, item, old, new):
        return
    how = "delete" if new is None else "add" if is_empty(old) else "update"
    yield Change(path, how, _forces(item))


def _equal(kind: Kind, item: Property, old: Any, new: Any) -> bool:
    if is_empty(old) and is_empty(new):
        return True
    if old is None or new is None or new == UNKNOWN:
        return False
    if item.path in kind.images:
        return same_image(old, new)
    if kind.is_reference(item.path) and same_resource(old, new):
        return True
    if item.is_scalar:
        return bool(coerce(item, old) == coerce(item, new))
    return json.dumps(old, sort_keys=True) == json.dumps(new, sort_keys=True)


def _forces(item: Property) -> bool:
    if item.replaces:
        return True
    return item.shape == "list" and item.element is not None and item.element.replaces


def _filled(kind: Kind) -> set[str]:
    """What the plugin itself knows the value of when the program leaves it out."""
    return {"project", "deletionPolicy"} | kind.own_properties


def _label_changes(state: Mapping[str, Any], inputs: Mapping[str, Any]) -> Iterator[Change]:
    wanted = {"effectiveLabels": labels.effective_labels(inputs, state), "pulumiLabels": labels.own_labels(inputs)}
    for name, new in wanted.items():
        old = state.get(name) or {}
        if not isinstance(new, dict):
            yield Change(name, "update", replaces=False)
            continue
        for key in sorted({*old, *new}):
            if old.get(key) != new.get(key):
                how = "delete" if key not in new else "add" if key not in old else "update"
                yield Change(f"{name}{_key_step(key)}", how, replaces=False)


def _key_step(key: str) -> str:
    return f".{key}" if key.replace("_", "").isalnum() else f'["{key}"]'


def _is_ignored(path: str, ignored: tuple[str, ...]) -> bool:
    for prefix in ignored:
        if path == prefix or path.startswith((f"{prefix}.", f"{prefix}[")):
            return True
        # Labels that are ignored are ignored in what the plugin makes of them, too.
        if prefix == "labels" and path.startswith(("effectiveLabels", "pulumiLabels")):
            return True
    return False


def differ(kind: Kind, item: Property, state: Any, value: Any) -> bool:
    """Whether one property's value differs from the state's, as the plugin compares them."""
    return any(True for _ in _compare(kind, item, state, value, "x"))
