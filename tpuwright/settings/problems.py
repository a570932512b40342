"""What is wrong with a stack's settings, as sentences that name the key, its value, the consequence and the fix."""

from __future__ import annotations

import difflib
import json
import types
import typing
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tpuwright.errors import TpuwrightError


@dataclass(frozen=True)
class Problem:
    """One refusal. ``path`` is the key as written (``pods[0].zones``); ``text`` continues after key and value."""

    path: str
    text: str
    value: object = None

    def __str__(self) -> str:
        return f"{self.path} {show(self.value)} {self.text}" if self.value is not None else f"{self.path} {self.text}"


class SettingsError(TpuwrightError):
    """A stack's settings were refused, before any call to the cloud; ``problems`` holds every refusal."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        lines = [f"{number}. {problem}" for number, problem in enumerate(self.problems, start=1)]
        head = "This setting was refused" if len(lines) == 1 else f"These {len(lines)} settings were refused"
        super().__init__("\n".join([f"{head}, and nothing was changed:", *lines]))


class RefusedError(ValueError):
    """Raised by validators. ``hide`` keeps the value out of the message (it may be a secret).

    ``within`` names the part of the value that is meant, as a path (``.FOO`` or ``[2]``).
    """

    def __init__(self, text: str, *, hide: bool = False, within: str = "", value: object = None) -> None:
        self.text = text
        self.hide = hide
        self.within = within
        self.value = value
        super().__init__(text)


def refuse(problem: str | None, *, within: str = "", value: object = None) -> None:
    """Raise RefusedError if there is a problem."""
    if problem:
        raise RefusedError(problem, within=within, value=value)


def show(value: object) -> str:
    """A value as it may stand in a message: short, and text in quotes."""
    text = f"'{value}'" if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "…"


def path_of(prefix: str, location: Iterable[int | str]) -> str:
    """``pods[0].zones[1]`` from pydantic's location."""
    path = prefix
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path and path[-1] != ":" else str(part)
    return path


def nearest_key(wrong: str, known: Sequence[str]) -> str:
    """The end of a sentence about a key that does not exist."""
    alike = difflib.get_close_matches(wrong, known, n=1, cutoff=0.5)
    if alike:
        return f"is not a setting, so it would change nothing; the nearest is '{alike[0]}'"
    return f"is not a setting, so it would change nothing; the settings here are: {', '.join(known)}"


def problems_of(error: ValidationError, prefix: str, model: type[BaseModel]) -> list[Problem]:
    """Every finding of pydantic, in our words."""
    return [_problem(dict(details), prefix, model) for details in findings(error)]


def findings(error: ValidationError) -> list[ErrorDetails]:
    """What pydantic found; a list counts as too short only if it is empty, not because its entries are wrong."""
    return [
        details
        for details in error.errors(include_url=False)
        if not (details["type"] == "too_short" and details["input"])
    ]


def _problem(details: dict[str, Any], prefix: str, model: type[BaseModel]) -> Problem:
    location: tuple[int | str, ...] = details["loc"]
    kind: str = details["type"]
    value = details["input"]
    path = path_of(prefix, location)
    cause = details.get("ctx", {}).get("error")
    if isinstance(cause, RefusedError):
        shown = None if cause.hide else cause.value if cause.value is not None else value
        return Problem(path + cause.within, cause.text, shown)
    if kind == "extra_forbidden":
        owner = _model_at(model, location[:-1])
        return Problem(path, nearest_key(str(location[-1]), list(owner.model_fields) if owner else []))
    if kind == "missing":
        return Problem(path, _missing(model, location))
    if kind == "literal_error":
        return Problem(path, f"does not exist; it can be: {details['ctx']['expected']}", value)
    if kind == "too_short":
        return Problem(path, "is empty, and at least one entry is needed")
    wanted = _WANTED.get(kind)
    if wanted:
        return Problem(path, f"is {_KIND.get(type(value), 'something else')} where {wanted}", value)
    return Problem(path, f"is refused: {details['msg'][:1].lower()}{details['msg'][1:]}", value)


_KIND = {str: "text", int: "a number", float: "a number", bool: "a yes or no", list: "a list", dict: "a mapping"}
_WANTED = {
    "string_type": "text is needed: write it in quotes",
    "int_type": "a whole number is needed: write it without quotes",
    "bool_type": "true or false is needed",
    "list_type": "a list is needed: write it in [ ], or each on a line of its own that begins with '- '",
    "tuple_type": "a list is needed: write it in [ ], or each on a line of its own that begins with '- '",
    "dict_type": "a mapping is needed: write it as 'key: value' lines",
    "model_type": "a mapping is needed: write it as 'key: value' lines",
    "model_attributes_type": "a mapping is needed: write it as 'key: value' lines",
}


def _missing(model: type[BaseModel], location: tuple[int | str, ...]) -> str:
    owner = _model_at(model, location[:-1])
    field = owner.model_fields.get(str(location[-1])) if owner else None
    if field is None:
        return "is missing"
    example = f", such as {json.dumps(field.examples[0])}" if field.examples else ""
    return f"is missing: add it{example} ({field.description})"


def _model_at(model: type[BaseModel], location: Iterable[int | str]) -> type[BaseModel] | None:
    current: Any = model
    for part in location:
        if isinstance(part, int):
            continue
        field = current.model_fields.get(part) if _is_model(current) else None
        if field is None:
            return None
        current = model_in(field.annotation)
    return current if _is_model(current) else None


def model_in(annotation: Any) -> Any:
    """The model inside of ``list[Model]``, ``Model | None`` and their like."""
    if _is_model(annotation):
        return annotation
    if get_origin(annotation) in (list, tuple, typing.Union, types.UnionType, typing.Annotated):
        return next((found for found in map(model_in, get_args(annotation)) if found), None)
    return None


def _is_model(candidate: Any) -> bool:
    return isinstance(candidate, type) and issubclass(candidate, BaseModel)
