"""Time, as one object, so that a test can move it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime


class Clock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def timestamp(self) -> str:
        """RFC 3339 with microseconds, as Google's one-platform APIs write it."""
        return rfc3339(self.now())


def rfc3339(moment: datetime) -> str:
    """A UTC moment as "2026-11-21T13:00:00.123456Z"."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
