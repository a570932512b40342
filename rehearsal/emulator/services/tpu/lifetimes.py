"""How nodes end or falter without being asked: preemption, maintenance, hosts that die and are repaired."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from rehearsal.emulator.background import after_start, at_death
from rehearsal.emulator.clock import rfc3339
from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.handlers import Json
from rehearsal.emulator.services.tpu.nodes_stored import nodes, set_internal, worker_keys
from rehearsal.emulator.services.tpu.workers import all_of, endpoints, host_specs, make_host, on_all, tear_down
from rehearsal.hosts.backend import HostsError, HostState
from rehearsal.hosts.paper_hosts import PaperHosts

log = logging.getLogger(__name__)
_REPAIR_AGAIN_SECONDS = 1.0
PreemptedHook = Callable[[Cloud, Json], Awaitable[None]]
PREEMPTED_HOOKS: list[PreemptedHook] = []
"""Told the name of every node that was preempted; queued resources listen."""


async def preempt(cloud: Cloud, name: str) -> None:
    """Take a node's hosts away at once, and show it as the settings say."""
    node = cloud.store.get(name)
    if node is None or node["state"] == "DELETING":
        return
    await cloud.ended(f"repair {name}")
    for running in cloud.operations.running_on(name):
        cloud.operations.cancel(running)
        await cloud.operations.wait(running, 60)
    set_internal(cloud, name, allocated=False, preempted=True)
    if cloud.settings.faults.says_preempted:
        cloud.store.update(name, state="PREEMPTED", health=None)
    await on_all(cloud.hosts.delete, node)
    for hook in PREEMPTED_HOOKS:
        await hook(cloud, node)
    if not cloud.settings.faults.preempted_lingers:
        await tear_down(cloud, node)
        cloud.store.delete(name)


async def maintain(cloud: Cloud, name: str, workers: list[int]) -> Json | None:
    """Restart the hosts of some workers; their external addresses change. Returns the node afterwards."""
    node = cloud.store.get(name)
    if node is None:
        return None
    now = cloud.clock.now()
    end = now + timedelta(seconds=cloud.settings.timings.node_maintenance)
    window = {
        "type": "UNSCHEDULED",
        "canReschedule": False,
        "windowStartTime": rfc3339(now),
        "windowEndTime": rfc3339(end),
        "maintenanceStatus": "ONGOING",
    }
    cloud.store.update(
        name,
        health="UNHEALTHY_MAINTENANCE",
        healthDescription="The TPU is under maintenance.",
        upcomingMaintenance=window,
    )
    await cloud.clock.sleep(cloud.settings.timings.node_maintenance)
    for index in workers:
        await cloud.hosts.restart(worker_keys(node)[index])
    generation = node["internal"].get("addressGeneration", 0) + 1
    node = set_internal(cloud, name, addressGeneration=generation) or node
    return cloud.store.update(
        name,
        health="HEALTHY",
        healthDescription=None,
        upcomingMaintenance=None,
        networkEndpoints=endpoints(cloud, node),
    )


def watch(cloud: Cloud, node: Json) -> None:
    """Preempt a spot node when its time, by the settings, has come."""
    after = cloud.settings.faults.preempt_after
    if after is None or not node["internal"]["spot"] or node["state"] != "READY":
        return
    since = datetime.fromisoformat(node["internal"].get("readySince", node["createTime"]))
    left = (since + timedelta(seconds=after) - cloud.clock.now()).total_seconds()
    cloud.spawn(f"preempt {node['name']}", _preempt_later(cloud, node["name"], max(0.0, left)))


async def forget(cloud: Cloud, name: str) -> None:
    """Nothing more happens to a node by itself; returns when nothing is being repaired any more."""
    for what in ("preempt", "repair"):
        await cloud.ended(f"{what} {name}")


@at_death
async def host_died(cloud: Cloud, key: str) -> None:
    """A worker's host died: the node turns unhealthy, names the worker, and is repaired if that is set."""
    name, separator, worker = key.rpartition("/workers/")
    node = cloud.store.get(name) if separator else None
    if node is None or node["state"] not in {"READY", "REPAIRING"}:
        return
    if node["internal"].get("preempted"):
        return
    symptom = {
        "createTime": cloud.clock.timestamp(),
        "symptomType": "EXECUTE_TIMED_OUT",
        "workerId": worker,
        "details": f"Worker {worker} does not answer.",
    }
    kept = [old for old in node.get("symptoms", []) if old["workerId"] != worker]
    cloud.store.update(
        name,
        health="TIMEOUT",
        healthDescription=f"Worker {worker} does not answer.",
        symptoms=[*kept, symptom],
    )
    if cloud.settings.faults.repair == "auto":
        cloud.spawn(f"repair {name}", _repair(cloud, name))


@after_start
async def take_up_nodes(cloud: Cloud) -> None:
    """After a restart: timers run on, and hosts that died meanwhile count as dead now."""
    if isinstance(cloud.hosts, PaperHosts):
        # Paper forgets with the process; what it held is noted again.
        for node in nodes(cloud):
            if node["state"] in {"READY", "REPAIRING"} and not node["internal"].get("preempted"):
                await all_of(cloud.hosts.create(spec) for spec in host_specs(cloud, node))
    states = await cloud.hosts.states()
    for node in nodes(cloud):
        watch(cloud, node)
        if node["state"] not in {"READY", "REPAIRING"} or node["internal"].get("preempted"):
            continue
        for key in worker_keys(node):
            if states.get(key, HostState.MISSING) is not HostState.RUNNING:
                await host_died(cloud, key)


async def _preempt_later(cloud: Cloud, name: str, seconds: float) -> None:
    await cloud.clock.sleep(seconds)
    await preempt(cloud, name)


async def _repair(cloud: Cloud, name: str) -> None:
    await cloud.clock.sleep(cloud.settings.timings.repair)
    node = cloud.store.update(name, state="REPAIRING")
    while node is not None:
        try:
            states = await cloud.hosts.states()
            for spec in host_specs(cloud, node):
                if states.get(spec.key, HostState.MISSING) is not HostState.RUNNING:
                    await make_host(cloud, spec)
        except HostsError as trouble:
            log.warning("the repair of %s did not work: %s", name, trouble)
            await cloud.clock.sleep(max(_REPAIR_AGAIN_SECONDS, cloud.settings.timings.repair))
            continue
        break
    cloud.store.update(name, state="READY", health="HEALTHY", healthDescription=None, symptoms=None)
