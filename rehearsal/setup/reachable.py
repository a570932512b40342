"""Whether a site answers, asked with little patience; a no is remembered for a while, a yes never."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import platformdirs

REMEMBERED_HOURS = 12
_PATIENCE = httpx.Timeout(5)


def memory_file() -> Path:
    """Sites that did not answer: {"host": {"at": seconds since the epoch, "why": text}}."""
    return platformdirs.user_cache_path("tpuwright") / "unreachable.json"


def why_unreachable(url: str) -> str | None:
    """Why the site of `url` cannot be used, in a few words; None where it answers (with whatever status).

    TPUWRIGHT_SETUP_RETRY=1 asks again what is remembered as silent.
    """
    host = urlsplit(url).netloc
    remembered = _remembered()
    known = remembered.get(host)
    if known and not os.environ.get("TPUWRIGHT_SETUP_RETRY"):
        hours = (time.time() - float(known["at"])) / 3600
        if 0 <= hours < REMEMBERED_HOURS:
            return f"{host} did not answer {_ago(hours)} ago"
    try:
        httpx.head(url, timeout=_PATIENCE)
    except httpx.HTTPError as error:
        _remember({**remembered, host: {"at": time.time(), "why": str(error)}})
        return f"{host} does not answer"
    _remember({name: entry for name, entry in remembered.items() if name != host})
    return None


def _remembered() -> dict[str, dict[str, str | float]]:
    try:
        found: dict[str, dict[str, str | float]] = json.loads(memory_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def _remember(entries: dict[str, dict[str, str | float]]) -> None:
    file = memory_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    if entries or file.exists():
        file.write_text(json.dumps(entries, indent=1), encoding="utf-8")


def _ago(hours: float) -> str:
    return f"{hours:.0f} h" if hours >= 1 else f"{max(1, round(hours * 60))} min"
