"""Check: are the inputs of a resource right, and what does the plugin fill in?"""

import hashlib
import re
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from rehearsal.provider.bodies import coerce
from rehearsal.provider.kinds import Kind
from rehearsal.provider.property_types import Property
from rehearsal.provider.values import UNKNOWN, Properties

_DEFAULTS = "__defaults"
_LONGEST_NAME = {"name": 63, "accountId": 30}


def failures(kind: Kind, name: str, news: Mapping[str, Any]) -> list[str]:
    """What is wrong with a resource's inputs, one sentence each, in the plugin's words.

    Args:
        name: the resource's name in the program, for "Examine values at 'name.property'."
        news: the program's inputs.
    """
    inputs = {key: value for key, value in news.items() if key != _DEFAULTS}
    found = list(_object_failures(kind.schema.inputs, inputs, name, ""))
    found += [
        f"Conflicting configuration arguments: \"{one}\": conflicts with {other}. Examine values at '{name}.{one}'."
        for one, other in kind.conflicts
        if one in inputs and other in inputs
    ]
    chosen = inputs.get(kind.name_property or "")
    if chosen and kind.name_pattern and not _is_name(kind, chosen):
        found.append(
            f'"{kind.name_property}" ("{chosen}") doesn\'t match regexp "{kind.name_pattern}". '
            f"Examine values at '{name}.{kind.name_property}'."
        )
    return found


def _is_name(kind: Kind, chosen: Any) -> bool:
    # The pattern is of whole names: `fullmatch`, as `$` lets a trailing newline pass.
    return chosen == UNKNOWN or re.fullmatch(kind.name_pattern.strip("^$"), str(chosen)) is not None


def _object_failures(fields: Mapping[str, Property], value: Mapping[str, Any], name: str, prefix: str) -> Iterator[str]:
    for key in value:
        if key not in fields and key != _DEFAULTS:
            yield f"Invalid or unknown key. Examine values at '{name}.{prefix}{key}'."
    for key, item in fields.items():
        given = value.get(key)
        if given is None:
            if item.required:
                yield f"Missing required property '{prefix}{key}'"
        else:
            yield from _failures_of(item, given, name, prefix + key)


def _failures_of(item: Property, value: Any, name: str, path: str) -> Iterator[str]:
    if value == UNKNOWN:
        return
    where = f"Examine values at '{name}.{path}'."
    if item.shape == "list" and item.element is not None:
        if not isinstance(value, list):
            yield f"expected a list, got {_said(value)}. {where}"
            return
        for index, element in enumerate(value):
            yield from _failures_of(item.element, element, name, f"{path}[{index}]")
    elif item.shape in ("object", "map"):
        if not isinstance(value, Mapping):
            yield f"expected an object, got {_said(value)}. {where}"
        elif item.shape == "object":
            yield from _object_failures(item.fields, value, name, f"{path}.")
        elif item.element is not None:
            for key, element in value.items():
                yield from _failures_of(item.element, element, name, f"{path}.{key}")
    else:
        try:
            coerce(item, value)
        except ValueError as error:
            yield f"{error}. {where}"


def _said(value: Any) -> str:
    """The value for a message; a long one only by its kind."""
    text = repr(value)
    return text if len(text) <= 60 else f"a {type(value).__name__}"


def filled(
    kind: Kind, name: str, news: Mapping[str, Any], olds: Mapping[str, Any], seed: bytes, proposed: str | None = None
) -> Properties:
    """The inputs with what the plugin fills in: a unique name, and its defaults; `__defaults` lists these.

    Args:
        olds: the checked inputs of before; a name made then is kept.
        seed: the engine's, so that a preview and its update make the same name; empty for any.
        proposed: a name that the engine proposes (autonaming configuration).
    """
    made: Properties = {key: value for key, value in news.items() if key != _DEFAULTS}
    added = []
    own = kind.name_property
    if own is not None and own not in made:
        before = olds.get(own) if own in olds.get(_DEFAULTS, [own]) else None
        made[own] = before or proposed or _unique(name, seed, _LONGEST_NAME[own])
        added.append(own)
    for key, item in kind.schema.inputs.items():
        if key in made:
            made[key] = _with_defaults(kind, item, made[key])
        elif kind.defaults.get(item.path) and not _excluded(kind, key, made):
            made[key] = kind.defaults[item.path]
            added.append(key)
    made[_DEFAULTS] = sorted(added)
    return made


def _with_defaults(kind: Kind, item: Property, value: Any) -> Any:
    if item.shape == "list" and item.element is not None and isinstance(value, list):
        return [_with_defaults(kind, item.element, element) for element in value]
    if item.shape == "object" and isinstance(value, Mapping):
        made = {key: _with_defaults(kind, item.fields[key], v) for key, v in value.items() if key in item.fields}
        for key, child in item.fields.items():
            if key not in made and kind.defaults.get(child.path):
                made[key] = kind.defaults[child.path]
        return made
    return value


def _excluded(kind: Kind, key: str, made: Mapping[str, Any]) -> bool:
    return any(key in pair and (set(pair) - {key}) & set(made) for pair in kind.conflicts)


def _unique(name: str, seed: bytes, longest: int) -> str:
    """`name-1a2b3c4`: lower case, seven hexadecimal digits, cut to the longest name that Google takes."""
    digits = hashlib.sha256(seed).hexdigest()[:7] if seed else secrets.token_hex(4)[:7]
    return f"{name.lower()[: longest - 8]}-{digits}"
