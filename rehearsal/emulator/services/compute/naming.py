"""What names, tags and labels may look like. Source: the patterns in Compute's discovery document."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rehearsal.emulator.services.compute.refusals import NAME_PATTERN, invalid_field, not_a_match, required

_NAME = re.compile(NAME_PATTERN)
_LABEL_KEY = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_LABEL_VALUE = re.compile(r"[a-z0-9_-]{0,63}")
MOST_LABELS = 64
MOST_TAGS = 64


def check_name(name: object, field: str = "resource.name") -> str:
    """The name itself; ApiError 400 when there is none or Google would refuse it."""
    if name is None or name == "":
        raise required(field)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise not_a_match(field, name, NAME_PATTERN)
    return name


def check_tags(tags: Sequence[str], field: str) -> None:
    """Network tags have the form of names, are 64 at most and differ from each other."""
    if len(tags) > MOST_TAGS:
        raise invalid_field(field, len(tags), f"A resource can have at most {MOST_TAGS} tags.")
    for index, tag in enumerate(tags):
        if not _NAME.fullmatch(tag):
            raise not_a_match(f"{field}[{index}]", tag, NAME_PATTERN)
    if len(set(tags)) < len(tags):
        twice = next(tag for tag in tags if tags.count(tag) > 1)
        raise invalid_field(field, twice, "Duplicate tags are not allowed.")


def check_labels(labels: Mapping[str, str], field: str = "resource.labels") -> None:
    """Labels: at most 64; keys and values lower case, digits, _ and -, 63 characters at most."""
    if len(labels) > MOST_LABELS:
        raise invalid_field(field, len(labels), f"A resource can have at most {MOST_LABELS} labels.")
    for key, value in labels.items():
        if not _LABEL_KEY.fullmatch(key):
            raise not_a_match(field, key, _LABEL_KEY.pattern)
        if not _LABEL_VALUE.fullmatch(value):
            raise not_a_match(field, value, _LABEL_VALUE.pattern)
