"""Running checks: all at once, those that build on others after them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from tpuwright.doctor.check import Check, Finding, Status
from tpuwright.errors import TpuwrightError

logger = logging.getLogger(__name__)


def examine(checks: Sequence[Check]) -> list[tuple[Check, Finding]]:
    """Every check with its finding, in the order given. A check has to come after those that it names in `after`."""
    futures: dict[str, Future[Finding]] = {}
    with ThreadPoolExecutor(max_workers=max(1, len(checks))) as pool:
        for check in checks:
            awaited = {name: futures[name] for name in check.after if name in futures}
            futures[check.name] = pool.submit(_answer, check, awaited)
        return [(check, futures[check.name].result()) for check in checks]


def _answer(check: Check, awaited: dict[str, Future[Finding]]) -> Finding:
    bad = [name for name, future in awaited.items() if future.result().status in (Status.FAILED, Status.SKIPPED)]
    if bad:
        return Finding(Status.SKIPPED, f"not asked, as it needs: {', '.join(bad)}")
    try:
        return check.run()
    except TpuwrightError as error:
        # Our sentences end in what to do, after a colon; what is quoted before it may have colons of its own.
        found, _, remedy = str(error).rpartition(": ")
        return Finding(Status.FAILED, found or remedy, remedy if found else "")
    except Exception as error:
        logger.debug("check %s", check.name, exc_info=True)
        return Finding(Status.FAILED, f"the check itself failed: {type(error).__name__}: {error}", "report it")
