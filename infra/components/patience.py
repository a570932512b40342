"""Says so when Google accepts no node: the provider tries again in silence, for as long as creating may take.

A quota that is used up is HTTP 429, which the gcp provider takes for a rate limit; it repeats the request until its
timeout and shows the error only then (``isCommonRetryableErrorCode`` in terraform-provider-google).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pulumi

from placement import Placement
from stack_settings import StackSettings
from tpuwright.cloud.errors import CloudError
from tpuwright.cloud.tpu import TpuApi

# A request that was accepted shows as a node in state CREATING at once, so this is long enough to be sure.
SILENCE_SECONDS = 30.0
_POLL_SECONDS = 5.0


class Patience:
    """Watches one creation, from ``begin`` (before it) to ``end`` (after it, whether it worked or not)."""

    def __init__(self, stack: StackSettings, placement: Placement, minutes: int) -> None:
        self._stack = stack
        self._placement = placement
        self._minutes = minutes
        self._task: asyncio.Task[None] | None = None

    async def begin(self, _args: pulumi.ResourceHookArgs) -> None:
        self._task = asyncio.get_running_loop().create_task(self._watch(self._there))

    async def end(self, _args: pulumi.ResourceHookArgs) -> None:
        self._stop()

    async def failed(self, _args: pulumi.ErrorHookArgs) -> bool:
        """An error hook: stops watching, and does not ask for another attempt."""
        self._stop()
        return False

    @property
    def node(self) -> str:
        return self._placement.node

    def _stop(self) -> None:
        if self._task:
            self._task.cancel()

    async def _watch(self, there: Callable[[], bool]) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + SILENCE_SECONDS
        while loop.time() < end:
            await asyncio.sleep(_POLL_SECONDS)
            if await asyncio.to_thread(there):
                return
        pulumi.log.warn(
            f"Google has accepted no node {self._placement.node} in {self._placement.zone} for "
            f"{SILENCE_SECONDS:.0f} seconds. Most often the project's TPU quota is used up: the gcp provider does not "
            f"say so but tries again for up to {self._minutes} minutes. Look at 'tpuwright doctor "
            f"{self._stack.stack}' or https://console.cloud.google.com/iam-admin/quotas; Ctrl-C gives up."
        )

    def _there(self) -> bool:
        gcp = self._stack.settings.gcp
        try:
            TpuApi(gcp.project, gcp.tpuV2CustomEndpoint).node(self._placement.zone, self._placement.node)
        except CloudError as error:
            # Where the API does not answer, nothing can be said.
            return error.kind != "not_found"
        return True
