"""Pages of a list, by pageSize and pageToken (one-platform) or maxResults and pageToken (Compute)."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from rehearsal.emulator.errors import invalid
from rehearsal.emulator.handlers import Call, Json
from rehearsal.emulator.operations import number_of

LARGEST_PAGE = 1000
DEFAULT_PAGE = 500


def page(call: Call, key: str, items: Sequence[Json]) -> Json:
    """One page as {key: [...], "nextPageToken": ...}; an empty list is left out, as Google does."""
    size = call.query.get("pageSize") or DEFAULT_PAGE
    if size < 0:
        raise invalid("Invalid page size", field="page_size")
    chosen, token = _cut(items, min(size, LARGEST_PAGE), call.query.get("pageToken"))
    answer: Json = {key: list(chosen)} if chosen else {}
    if token:
        answer["nextPageToken"] = token
    return answer


def compute_page(call: Call, kind: str, collection: str, items: Sequence[Json]) -> Json:
    """One page of a Compute list; `collection` is the path whose URL becomes selfLink."""
    size = call.query.get("maxResults")
    size = DEFAULT_PAGE if size is None else int(size)
    if not 0 <= size <= DEFAULT_PAGE:
        raise invalid(f"Invalid value for field 'maxResults': '{size}'. Values must be within the range: [0, 500]")
    chosen, token = _cut(items, size or DEFAULT_PAGE, call.query.get("pageToken"))
    answer: Json = {"kind": kind, "id": collection, "selfLink": call.base_url + collection}
    if chosen:
        answer["items"] = list(chosen)
    if token:
        answer["nextPageToken"] = token
    return answer


def _cut(items: Sequence[Json], size: int, token: str | None) -> tuple[Sequence[Json], str | None]:
    start = _position(token) if token else 0
    end = start + size
    return items[start:end], _token(end) if end < len(items) else None


def _token(position: int) -> str:
    return base64.urlsafe_b64encode(f"{number_of(str(position))}:{position}".encode()).decode()


def _position(token: str) -> int:
    try:
        check, _, position = base64.urlsafe_b64decode(token.encode()).decode().partition(":")
        if check == number_of(str(int(position))):
            return int(position)
    except ValueError:
        pass
    raise invalid("page_token is invalid", field="page_token", reason="invalidParameter")
