"""API faults on purpose: which request is refused now."""

from __future__ import annotations

from datetime import datetime, timedelta
from fnmatch import fnmatchcase

from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.errors import ApiError
from rehearsal.emulator.settings import ApiFault

_MESSAGES = {
    401: "Request had invalid authentication credentials.",
    403: "The caller does not have permission",
    429: "Quota exceeded for quota metric 'Requests' and limit 'Requests per minute' of service.",
    500: "Internal error encountered.",
    502: "Bad Gateway",
    503: "The service is currently unavailable.",
    504: "Deadline expired before operation could complete.",
}


def raise_fault(cloud: Cloud, method_id: str) -> None:
    """Raise the ApiError that the settings want for this method; counts and clocks are brought forward."""
    now = cloud.clock.now()
    remaining: list[ApiFault] = []
    hit: ApiFault | None = None
    for fault in cloud.settings.faults.api:
        since = datetime.fromisoformat(fault.since) if fault.since else now
        if fault.seconds is not None and now - since > timedelta(seconds=fault.seconds):
            continue
        if hit is None and fnmatchcase(method_id, fault.methods):
            hit = fault
            if fault.times == 1:
                continue
            times = None if fault.times is None else fault.times - 1
            fault = fault.model_copy(update={"times": times, "since": since.isoformat()})
        remaining.append(fault)
    if remaining != cloud.settings.faults.api:
        settings = cloud.settings.model_copy(deep=True)
        settings.faults.api = remaining
        cloud.save_settings(settings)
    if hit is not None:
        raise ApiError(hit.http_code, hit.message or _MESSAGES[hit.http_code])
