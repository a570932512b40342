"""requestId: a repeated request is answered with the operation of the first."""

from __future__ import annotations

import re

from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.handlers import Call, Json
from rehearsal.emulator.services.tpu.refusals import bad_request

_KIND = "tpu.request"
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def answered_before(call: Call, cloud: Cloud, scope: str) -> Json | None:
    """The operation that an equal requestId began, or None. Raises ApiError 400 for a malformed id."""
    request = call.query.get("requestId")
    if not request:
        return None
    if not _UUID.fullmatch(request) or set(request) <= {"0", "-"}:
        raise bad_request(f'request_id "{request}" is invalid; it must be a UUID other than the zero one')
    known = cloud.store.get(_key(call, scope, request))
    stored = cloud.store.get(known["operation"]) if known else None
    if known is None or stored is None:
        return None
    return cloud.operations.render(known["operation"], stored, call.base_url)


def remember(call: Call, cloud: Cloud, scope: str, began: Json) -> Json:
    """Keep which operation a requestId began; returns the operation."""
    request = call.query.get("requestId")
    if request:
        cloud.store.put(_KIND, _key(call, scope, request), {"operation": began["name"]})
    return began


def _key(call: Call, scope: str, request: str) -> str:
    return f"{scope}/requests/{call.method_id}/{request}"
