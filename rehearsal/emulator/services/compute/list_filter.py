"""The `filter` of Compute's list methods, read once into a predicate over resources.

Grammar (the discovery document's description of `filter`): comparisons `field op value` with the operators
=, !=, <, <=, >, >=, : (contains, `:*` exists) and eq, ne (regular expressions that match the whole value);
values may be quoted; comparisons stand in parentheses and are joined by AND (also by nothing) and OR; `-`
or NOT negates. Fields nest with dots.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from rehearsal.emulator.services.compute.refusals import invalid_field

Predicate = Callable[[Mapping[str, Any]], bool]

_TOKEN = re.compile(
    r"\s*(?:(?P<bracket>[()])|(?P<op>!=|<=|>=|=|<|>|:)"
    r"|\"(?P<double>(?:[^\"\\]|\\.)*)\"|'(?P<single>(?:[^'\\]|\\.)*)'"
    r"|(?P<word>[^\s()=!<>:\"']+|-(?=\()))"
)
_WORD_OPERATORS = {"eq", "ne"}
_DEEPEST = 50


def parse(text: str) -> Predicate:
    """The predicate that `text` describes; ApiError 400 when it is no filter."""
    reader = _Reader(text)
    try:
        predicate = reader.either(0)
        if reader.peek() is not None:
            raise ValueError(text)
    except (ValueError, re.error):
        raise invalid_field("filter", text, "Invalid list filter expression.") from None
    return predicate


class _Reader:
    """Recursive descent over the tokens: (kind, text), kind one of bracket, op, word, value."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        at, text = 0, text.rstrip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise invalid_field("filter", text, "Invalid list filter expression.")
            kind = match.lastgroup or ""
            value = match[kind]
            if kind in ("double", "single"):
                kind, value = "value", value.replace('\\"', '"')  # other backslashes belong to regular expressions
            self.tokens.append((kind, value))
            at = match.end()
        self.at = 0

    def peek(self) -> tuple[str, str] | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self) -> tuple[str, str]:
        token = self.peek()
        if token is None:
            raise ValueError("the filter ends too early")
        self.at += 1
        return token

    def either(self, depth: int) -> Predicate:
        parts = [self.both(depth)]
        while self.peek() == ("word", "OR"):
            self.take()
            parts.append(self.both(depth))
        return lambda resource: any(part(resource) for part in parts)

    def both(self, depth: int) -> Predicate:
        parts = [self.one(depth)]
        while (token := self.peek()) is not None and token not in (("word", "OR"), ("bracket", ")")):
            if token == ("word", "AND"):
                self.take()
            parts.append(self.one(depth))
        return lambda resource: all(part(resource) for part in parts)

    def one(self, depth: int) -> Predicate:
        if depth > _DEEPEST:
            raise ValueError("too many brackets")
        kind, text = self.take()
        if (kind, text) in (("word", "NOT"), ("word", "-")):
            inner = self.one(depth + 1)
            return lambda resource: not inner(resource)
        if (kind, text) == ("bracket", "("):
            inside = self.either(depth + 1)
            if self.take() != ("bracket", ")"):
                raise ValueError("a bracket is not closed")
            return inside
        if kind != "word":
            raise ValueError(f"{text} is no field")
        operator_kind, operator = self.take()
        if operator_kind != "op" and operator not in _WORD_OPERATORS:
            raise ValueError(f"{operator} is no operator")
        value_kind, value = self.take()
        if value_kind not in ("word", "value"):
            raise ValueError(f"{value} is no value")
        return _comparison(text, operator, value)


def _comparison(field: str, operator: str, value: str) -> Predicate:
    test = _TESTS[operator](value)
    negated = operator in ("!=", "ne")

    def matches(resource: Mapping[str, Any]) -> bool:
        found = any(test(candidate) for candidate in _values(resource, field.split(".")))
        return found is not negated

    return matches


def _values(resource: Any, path: list[str]) -> list[Any]:
    """Every value at the path; lists on the way are looked into."""
    if isinstance(resource, list):
        return [value for item in resource for value in _values(item, path)]
    if not path:
        return [resource]
    if not isinstance(resource, Mapping) or path[0] not in resource:
        return []
    return _values(resource[path[0]], path[1:])


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _equals(wanted: str) -> Callable[[Any], bool]:
    pattern = re.compile(".*".join(re.escape(part) for part in wanted.lower().split("*")), re.DOTALL)
    return lambda value: pattern.fullmatch(_text(value).lower()) is not None


def _contains(wanted: str) -> Callable[[Any], bool]:
    if wanted == "*":
        return lambda _value: True
    return lambda value: wanted.strip("*").lower() in _text(value).lower()


def _matches(wanted: str) -> Callable[[Any], bool]:
    pattern = re.compile(wanted)
    return lambda value: pattern.fullmatch(_text(value)) is not None


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[str], Callable[[Any], bool]]:
    def with_wanted(wanted: str) -> Callable[[Any], bool]:
        def test(value: Any) -> bool:
            try:
                return compare(float(value), float(wanted))
            except (TypeError, ValueError):
                return compare(_text(value), wanted)

        return test

    return with_wanted


_TESTS: dict[str, Callable[[str], Callable[[Any], bool]]] = {
    "=": _equals,
    "!=": _equals,
    ":": _contains,
    "eq": _matches,
    "ne": _matches,
    "<": _ordered(lambda a, b: a < b),
    "<=": _ordered(lambda a, b: a <= b),
    ">": _ordered(lambda a, b: a > b),
    ">=": _ordered(lambda a, b: a >= b),
}
