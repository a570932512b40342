"""Action of tpuwright_host: the module, and how far the host's clock is from this machine's."""

from __future__ import annotations

import time
from typing import Any

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):  # type: ignore[misc]
    """Adds ``clock``: {offset, uncertainty}, seconds; the true offset is within ``uncertainty`` of ``offset``."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run the module between two looks at this machine's clock."""
        super().run(tmp, task_vars)
        before = time.time()
        result: dict[str, Any] = self._execute_module(task_vars=task_vars)
        after = time.time()
        if "time" in result:
            result["clock"] = {"offset": result["time"] - (before + after) / 2, "uncertainty": (after - before) / 2}
        return result
