"""Everything that handlers work with, in one object."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from pydantic import ValidationError

from rehearsal.emulator.addresses import Addresses
from rehearsal.emulator.auth import Tokens
from rehearsal.emulator.background import AFTER_START, AT_DEATH, AT_START, METADATA_VIEWS
from rehearsal.emulator.clock import Clock
from rehearsal.emulator.handlers import Json
from rehearsal.emulator.operations import Operations, number_of
from rehearsal.emulator.settings import EmulatorSettings
from rehearsal.emulator.store import Store
from rehearsal.hosts.backend import HostsBackend, SubnetworkSpec

log = logging.getLogger(__name__)
MetadataListener = Callable[[str], Awaitable[None]]


class Cloud:
    """The embedded cloud of one project.

    `hosts` runs TPU hosts and instances; `metadata_listener(address)`, if given, is awaited with the gateway
    of each subnetwork, to serve metadata there.
    """

    def __init__(
        self,
        store: Store,
        hosts: HostsBackend,
        tokens: Tokens,
        project: str = "tpuwright-rehearsal",
        clock: Clock | None = None,
        settings: EmulatorSettings | None = None,
    ) -> None:
        self.store = store
        self.hosts = hosts
        self.tokens = tokens
        self.project = project
        self.clock = clock or Clock()
        self.addresses = Addresses(store)
        self.operations = Operations(self)
        self.settings = settings or self._stored_settings()
        self.metadata_listener: MetadataListener | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}
        hosts.on_death(self._host_died)

    @property
    def project_number(self) -> str:
        """The project's number: 12 digits, stable for a name."""
        return number_of(f"projects/{self.project}")[:12]

    def save_settings(self, settings: EmulatorSettings) -> None:
        """Use these settings from now on, and after a restart."""
        self.settings = settings
        self.store.set_fact("settings", settings.model_dump_json())

    async def start(self) -> None:
        """Take up again what an earlier emulator left unfinished. Handlers must have been loaded."""
        for hook in [*AT_START, *AFTER_START]:
            await hook(self)
        self.operations.resume()

    async def stop(self) -> None:
        """Stop all work where it is. Hosts keep running."""
        await self.operations.halt()
        await self._end_tasks()
        await self.hosts.close()
        self.store.close()

    async def reset(self) -> None:
        """Delete everything that exists here, hosts and networks included."""
        await self.operations.halt()
        await self._end_tasks()
        for key in list(await self.hosts.states()):
            await self.hosts.delete(key)
        for name, _ in self.store.list("compute.subnetwork"):
            await self.hosts.remove_subnetwork(name)
        await self.hosts.apply_firewall([])
        self.store.wipe()

    async def prepare_subnetwork(self, spec: SubnetworkSpec) -> None:
        """Make a subnetwork's network on this machine and serve metadata on its gateway.

        Idempotent; also called at start for every subnetwork. Raises RangeCollision, a HostsError.
        """
        gateway = await self.hosts.prepare_subnetwork(spec)
        if gateway is not None and self.metadata_listener is not None:
            await self.metadata_listener(gateway)

    def spawn(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine beside the requests. One of the same name that still runs is replaced."""
        running = self._tasks.pop(name, None)
        if running is not None:
            running.cancel()
        self._tasks[name] = task = asyncio.create_task(work, name=name)
        task.add_done_callback(lambda done: self._forget(name, done))

    def dismiss(self, name: str) -> None:
        """Cancel what was spawned under a name, if it still runs."""
        task = self._tasks.get(name)
        if task is not None:
            task.cancel()

    async def ended(self, name: str) -> None:
        """Dismiss what was spawned under a name, and return when it has ended."""
        task = self._tasks.get(name)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    def metadata_of(self, ip: str) -> Json | None:
        """The metadata tree of the host with this address."""
        for view in METADATA_VIEWS:
            tree = view(self, ip)
            if tree is not None:
                return tree
        return None

    def put_guest_attribute(self, ip: str, namespace: str, key: str, value: str) -> None:
        """Keep what a host's guest agent publishes. An address of no host is ignored."""
        holder = self.store.holder_of(ip)
        if holder is not None:
            self.store.put_guest_attribute(holder, namespace, key, value)

    async def _host_died(self, key: str) -> None:
        for hook in AT_DEATH:
            await hook(self, key)

    async def _end_tasks(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _forget(self, name: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(name) is task:
            del self._tasks[name]
        if not task.cancelled() and task.exception() is not None:
            log.error("background task %s failed", name, exc_info=task.exception())

    def _stored_settings(self) -> EmulatorSettings:
        stored = self.store.fact("settings")
        if stored is None:
            return EmulatorSettings()
        try:
            return EmulatorSettings.model_validate_json(stored)
        except ValidationError:
            log.warning("The stored settings do not fit this version; the defaults are used.")
            return EmulatorSettings()
