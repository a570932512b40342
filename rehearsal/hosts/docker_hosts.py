"""Hosts as Docker containers: systemd, sshd, and what JAX looks for on a TPU VM."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

import docker
from docker.errors import APIError, DockerException
from requests.exceptions import RequestException

from rehearsal.hosts.backend import (
    DeathCallback,
    FirewallRule,
    HostsError,
    HostSpec,
    HostState,
    SubnetworkSpec,
)
from rehearsal.hosts.deaths import REBOOT_STATUS, DeathWatch
from rehearsal.hosts.docker_containers import Container, DockerContainers
from rehearsal.hosts.docker_networks import DockerNetworks, Subnetwork
from rehearsal.hosts.engine import connect, resolvers, unavailable
from rehearsal.hosts.image.build import image_tag
from rehearsal.hosts.iptables import Surroundings, compile_rules

log = logging.getLogger(__name__)
T = TypeVar("T")
_GOING_DOWN_SECONDS = 0.5


class DockerHosts:
    """A HostsBackend on the local Docker engine, which also keeps all state: a new object finds what is there.

    `rehearsal` marks and names what is made, so that several can share an engine; `metadata_port` is where the
    metadata server listens on each subnetwork's gateway address; `shown` are directories of this machine that
    every host sees, read-only (path in the host -> path here). Raises EngineUnavailable.
    """

    def __init__(
        self,
        rehearsal: str,
        metadata_port: int,
        image: str | None = None,
        shown: Mapping[str, Path] = MappingProxyType({}),
    ) -> None:
        self._rehearsal = rehearsal
        self._client: docker.DockerClient = connect()
        self._networks = DockerNetworks(self._client, rehearsal)
        self._containers = DockerContainers(self._client, rehearsal, image or image_tag(), metadata_port, shown)
        self._resolvers = resolvers()
        self._subnetworks: dict[str, Subnetwork] = {}
        self._specs: dict[str, HostSpec] = {}
        self._rules: tuple[FirewallRule, ...] = ()
        self._rules_known = False
        self._loaded: dict[str, str] = {}
        self._leaving: set[str] = set()
        self._reported: set[str] = set()
        self._callbacks: list[DeathCallback] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._watch: DeathWatch | None = None
        self._opening = asyncio.Lock()
        self._network_lock = asyncio.Lock()
        self._firewall_lock = asyncio.Lock()
        self._host_locks: dict[str, asyncio.Lock] = {}

    async def prepare_subnetwork(self, spec: SubnetworkSpec) -> str | None:
        """Make, or widen, the subnetwork's Docker network; returns its gateway's address."""
        await self._open()
        async with self._network_lock:
            subnetwork = await self._call(self._networks.prepare, spec)
            self._subnetworks[spec.name] = subnetwork
        await self._settle_firewall()
        return subnetwork.gateway

    async def remove_subnetwork(self, name: str) -> None:
        """Remove the subnetwork's Docker network. Raises HostsError while hosts are in it."""
        await self._open()
        async with self._network_lock:
            await self._call(self._networks.remove, name)
            self._subnetworks.pop(name, None)
        await self._settle_firewall()

    async def create(self, spec: HostSpec) -> None:
        """Make the host and start it. A host of that key that is there already runs afterwards."""
        await self._open()
        subnetwork = self._subnetworks.get(spec.subnetwork)
        if subnetwork is None:
            raise HostsError(f"Host {spec.key} asks for subnetwork {spec.subnetwork}, which was not prepared.")
        # Known before it is made: hosts that are made at the same time are in each other's first rules.
        self._specs[spec.key] = spec
        async with self._lock(spec.key):
            container = await self._call(self._containers.get, spec.key)
            if container is None:
                rules = self._rules_for(spec)
                try:
                    container = await self._call(self._containers.create, spec, subnetwork, rules)
                except HostsError:
                    del self._specs[spec.key]
                    raise
                self._loaded[spec.key] = rules
            await self._run(container)
        await self._settle_firewall()

    async def delete(self, key: str) -> None:
        """Remove the host and its disk."""
        await self._open()
        async with self._lock(key):
            for known in (self._specs, self._loaded):
                known.pop(key, None)
            self._reported.discard(key)
            container = await self._call(self._containers.get, key)
            if container is not None:
                await self._call(self._containers.remove, container)
        await self._settle_firewall()

    async def start(self, key: str) -> None:
        """Let the host run. Raises HostsError when there is none."""
        async with self._lock(key):
            await self._run(await self._existing(key))
        await self._settle_firewall()

    async def stop(self, key: str) -> None:
        """Shut the host down. Raises HostsError when there is none."""
        async with self._lock(key):
            container = await self._existing(key)
            self._leaving.add(key)
            try:
                await self._call(self._containers.stop, container)
            finally:
                self._leaving.discard(key)

    async def restart(self, key: str) -> None:
        """Shut the host down and start it again. Raises HostsError when there is none."""
        async with self._lock(key):
            container = await self._existing(key)
            self._leaving.add(key)
            try:
                await self._call(self._containers.restart, container)
            finally:
                self._leaving.discard(key)
            self._reported.discard(key)
        await self._settle_firewall()

    async def kill(self, key: str) -> None:
        """Cut the host's power. Raises HostsError when there is none."""
        await self._call(self._containers.kill, await self._existing(key))

    async def set_tags(self, key: str, tags: Sequence[str]) -> None:
        """Replace the host's network tags. Raises HostsError when there is none."""
        await self._existing(key)
        self._specs[key] = replace(self._specs[key], tags=tuple(tags))
        await self._settle_firewall()

    async def apply_firewall(self, rules: Sequence[FirewallRule]) -> None:
        """Replace all rules on all running hosts, and for those to come."""
        await self._open()
        self._rules = tuple(rules)
        self._rules_known = True
        await self._settle_firewall()

    async def states(self) -> Mapping[str, HostState]:
        """Every host's state by key."""
        await self._open()
        found = await self._call(self._containers.all)
        return {
            **dict.fromkeys(self._specs, HostState.MISSING),
            **{key: container.state for key, container in found.items()},
        }

    def on_death(self, callback: DeathCallback) -> None:
        """Await `callback(key)` whenever a host dies that nobody asked to stop."""
        self._callbacks.append(callback)

    async def leftovers(self) -> list[str]:
        """Containers and networks of this rehearsal that exist."""
        containers = await self._call(self._containers.all)
        networks = await self._call(self._networks.all)
        return [
            *(f"container {container.name} ({key})" for key, container in sorted(containers.items())),
            *(f"network {network.docker_name} ({name})" for name, network in sorted(networks.items())),
        ]

    async def close(self) -> None:
        """Stop watching; hosts keep running."""
        if self._watch is not None:
            await asyncio.to_thread(self._watch.close)
            self._watch = None
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.to_thread(self._client.close)

    async def _open(self) -> None:
        """Once: learn what an earlier emulator left here, and begin to watch."""
        async with self._opening:
            if self._watch is not None:
                return
            self._subnetworks = await self._call(self._networks.all)
            self._specs = {key: found.spec for key, found in (await self._call(self._containers.all)).items()}
            self._rules_known = not self._specs
            loop = asyncio.get_running_loop()
            self._watch = DeathWatch(
                self._rehearsal,
                lambda key, status: _safely(loop, self._ended, key, status),
                lambda: _safely(loop, self._look_for_deaths),
            )

    async def _existing(self, key: str) -> Container:
        await self._open()
        container = await self._call(self._containers.get, key)
        if container is None:
            raise HostsError(
                f"There is no host {key} in the Docker engine: it was removed from outside, or never made."
            )
        return container

    async def _run(self, container: Container) -> None:
        if container.state is not HostState.RUNNING:
            await self._call(self._containers.start, container)
        self._reported.discard(container.spec.key)

    async def _settle_firewall(self) -> None:
        """Load the rules of now into every running host whose rules differ; calls at the same time share the work."""
        if not self._rules_known:
            # Restarted, and not yet told: hosts keep what they have.
            return
        async with self._firewall_lock:
            stale = {
                key: rules
                for key, spec in self._specs.items()
                if (rules := self._rules_for(spec)) != self._loaded.get(key)
            }
            if not stale:
                return
            found = await self._call(self._containers.all)
            running = [key for key in stale if key in found and found[key].state is HostState.RUNNING]
            await asyncio.gather(*(self._load_rules(found[key], stale[key]) for key in running))

    async def _load_rules(self, container: Container, rules: str) -> None:
        key = container.spec.key
        try:
            await self._call(self._containers.load_rules, container, rules)
        except HostsError:
            # A host that is going down takes no rules and needs none: it boots with what it has, and is asked again.
            await asyncio.sleep(_GOING_DOWN_SECONDS)
            current = await self._call(self._containers.get, key)
            if key in self._specs and key not in self._leaving and current and current.state is HostState.RUNNING:
                await self._call(self._containers.load_rules, current, rules)
            else:
                return
        self._loaded[key] = rules

    def _rules_for(self, spec: HostSpec) -> str:
        subnetwork = self._subnetworks.get(spec.subnetwork)
        if subnetwork is None:
            return ""
        network = subnetwork.spec.network
        of_network = {name: found for name, found in self._subnetworks.items() if found.spec.network == network}
        members: dict[str, list[str]] = {}
        for other in self._specs.values():
            if other.subnetwork in of_network:
                for tag in other.tags:
                    members.setdefault(tag, []).append(other.ip)
        surroundings = Surroundings(
            network=network,
            ip=spec.ip,
            tags=spec.tags,
            gateway=subnetwork.gateway,
            vpc_ranges=tuple(sorted(found.spec.ip_cidr_range for found in of_network.values())),
            members=members,
            resolvers=self._resolvers,
            nat=spec.nat or subnetwork.spec.nat,
        )
        return compile_rules(self._rules, surroundings)

    def _ended(self, key: str, status: int) -> None:
        if key in self._leaving:
            return
        if status == REBOOT_STATUS:
            self._spawn(self._reboot(key))
        else:
            self._spawn(self._report(key))

    def _look_for_deaths(self) -> None:
        self._spawn(self._report_dead())

    async def _report_dead(self) -> None:
        for key, container in (await self._call(self._containers.all)).items():
            if container.state is HostState.DEAD and key not in self._leaving:
                await self._report(key)

    async def _report(self, key: str) -> None:
        async with self._lock(key):
            # What looked like a death may have been the end of something that was asked for.
            container = await self._call(self._containers.get, key)
            state = container.state if container else HostState.MISSING
            if key in self._reported or key not in self._specs or state in (HostState.RUNNING, HostState.STOPPED):
                return
            self._reported.add(key)
        log.warning("host %s is %s", key, state)
        for callback in self._callbacks:
            await callback(key)

    async def _reboot(self, key: str) -> None:
        log.info("host %s reboots", key)
        await self.start(key)

    def _spawn(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("a host's end could not be dealt with", exc_info=task.exception())

    def _lock(self, key: str) -> asyncio.Lock:
        return self._host_locks.setdefault(key, asyncio.Lock())

    async def _call(self, function: Callable[..., T], *args: object) -> T:
        try:
            return await asyncio.to_thread(function, *args)
        except APIError as error:
            raise HostsError(f"The Docker engine refused what was asked of it: {error.explanation}.") from error
        except (DockerException, RequestException) as error:
            raise unavailable() from error


def _safely(loop: asyncio.AbstractEventLoop, function: Callable[..., None], *args: object) -> None:
    """From the watching thread: run on the loop, unless it has ended."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(function, *args)
