"""How a queued resource moves: ACCEPTED, WAITING_FOR_RESOURCES, PROVISIONING, ACTIVE; FAILED; SUSPENDED."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

from rehearsal.emulator.background import after_start
from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.errors import ApiError
from rehearsal.emulator.handlers import Json
from rehearsal.emulator.services.tpu import lifetimes
from rehearsal.emulator.services.tpu.capacity import shortage
from rehearsal.emulator.services.tpu.nodes_stored import KIND as NODE_KIND
from rehearsal.emulator.services.tpu.queued_stored import ENDED, KIND, enter, state_of
from rehearsal.emulator.services.tpu.refusals import bad_request
from rehearsal.emulator.services.tpu.workers import bring_up, tear_down
from rehearsal.hosts.backend import HostsError

_POLL_SECONDS = 0.1
"""How often capacity is looked at again: settings may change at any time."""


def drive(cloud: Cloud, name: str) -> None:
    """Move a queued resource on, in the background, until it is ACTIVE or has ended."""
    cloud.spawn(f"queue {name}", _drive(cloud, name))


def let_be(cloud: Cloud, name: str) -> None:
    """Move it no further."""
    cloud.dismiss(f"queue {name}")


async def stopped(cloud: Cloud, name: str) -> None:
    """Move it no further, and return when nothing is being made for it any more."""
    await cloud.ended(f"queue {name}")


async def suspend(cloud: Cloud, name: str, initiator: str) -> None:
    """SUSPENDING, the nodes that are left are deleted, SUSPENDED. It is never served again."""
    enter(cloud, name, "SUSPENDING", initiator=initiator)
    queued = cloud.store.get(name)
    for planned in queued["internal"]["nodes"] if queued else ():
        node = cloud.store.get(planned["name"])
        # A preempted node lingers as the settings want; see lifetimes.preempt.
        if node is not None and not node["internal"].get("preempted"):
            await remove_node(cloud, node)
    enter(cloud, name, "SUSPENDED", initiator=initiator)


async def remove_node(cloud: Cloud, node: Json) -> None:
    """Delete a node and its hosts, from inside the service."""
    cloud.store.update(node["name"], state="DELETING")
    await lifetimes.forget(cloud, node["name"])
    await tear_down(cloud, node)
    cloud.store.delete(node["name"])


@after_start
async def take_up_queue(cloud: Cloud) -> None:
    for name, queued in cloud.store.list(KIND):
        if queued["state"]["state"] not in {*ENDED, "DELETING"}:
            drive(cloud, name)


async def node_preempted(cloud: Cloud, node: Json) -> None:
    """The queued resource of a preempted node is suspended, and all its nodes with it."""
    name = node.get("queuedResource")
    if name and state_of(cloud, name) in {"ACTIVE", "PROVISIONING"}:
        await stopped(cloud, name)
        await suspend(cloud, name, "SERVICE")


def node_deleted(cloud: Cloud, node: Json) -> None:
    """A queued resource whose last node its user has deleted is SUSPENDED."""
    name = node.get("queuedResource")
    queued = cloud.store.get(name) if name else None
    if name is None or queued is None or queued["state"]["state"] != "ACTIVE":
        return
    if all(cloud.store.get(planned["name"]) is None for planned in queued["internal"]["nodes"]):
        let_be(cloud, name)
        enter(cloud, name, "SUSPENDED", initiator="USER")


lifetimes.PREEMPTED_HOOKS.append(node_preempted)


async def _drive(cloud: Cloud, name: str) -> None:
    steps = {
        "CREATING": _accept,
        "ACCEPTED": _start_waiting,
        "WAITING_FOR_RESOURCES": _wait,
        "PROVISIONING": _provision,
        "ACTIVE": _expire,
        "SUSPENDING": _finish_suspending,
    }
    while (queued := cloud.store.get(name)) is not None:
        step = steps.get(queued["state"]["state"])
        if step is None or not await step(cloud, queued):
            return


async def _accept(cloud: Cloud, queued: Json) -> bool:
    await cloud.clock.sleep(cloud.settings.timings.queue)
    enter(cloud, queued["name"], "ACCEPTED")
    return True


async def _start_waiting(cloud: Cloud, queued: Json) -> bool:
    await cloud.clock.sleep(cloud.settings.timings.queue)
    after = queued["internal"].get("validAfter")
    if after is not None:
        await cloud.clock.sleep(max(0.0, _seconds_to(cloud, after)))
    enter(cloud, queued["name"], "WAITING_FOR_RESOURCES")
    return True


async def _wait(cloud: Cloud, queued: Json) -> bool:
    until = queued["internal"].get("validUntil")
    await cloud.clock.sleep(cloud.settings.timings.queue)
    while True:
        if until is not None and _seconds_to(cloud, until) <= 0:
            late = "The queued resource could not be provisioned before its valid until time."
            enter(cloud, queued["name"], "FAILED", error=ApiError(504, late))
            return False
        if shortage(cloud, queued["internal"]["nodes"]) is None:
            break
        await cloud.clock.sleep(_POLL_SECONDS)
    taken = [node["name"] for node in queued["internal"]["nodes"] if cloud.store.get(node["name"]) is not None]
    if taken:
        enter(cloud, queued["name"], "FAILED", error=bad_request(f"Resource '{taken[0]}' already exists"))
        return False
    with cloud.store.transaction():
        for planned in queued["internal"]["nodes"]:
            node = {**planned, "createTime": cloud.clock.timestamp()}
            node["internal"] = {**planned["internal"], "allocated": True}
            cloud.store.insert(NODE_KIND, node["name"], node)
        enter(cloud, queued["name"], "PROVISIONING")
    return True


async def _provision(cloud: Cloud, queued: Json) -> bool:
    nodes = [node for planned in queued["internal"]["nodes"] if (node := cloud.store.get(planned["name"])) is not None]
    results = await asyncio.gather(
        *(bring_up(cloud, node) for node in nodes if node["state"] != "READY"), return_exceptions=True
    )
    failures = [result for result in results if isinstance(result, BaseException)]
    if failures:
        failure = failures[0]
        if not isinstance(failure, ApiError | HostsError):
            raise failure
        error = failure if isinstance(failure, ApiError) else bad_request(str(failure))
        for node in nodes:
            await remove_node(cloud, node)
        enter(cloud, queued["name"], "FAILED", error=error)
        return False
    for result in results:
        if not isinstance(result, BaseException):
            lifetimes.watch(cloud, result)
    enter(cloud, queued["name"], "ACTIVE")
    return True


async def _expire(cloud: Cloud, queued: Json) -> bool:
    end = queued["internal"].get("terminates")
    longest = queued["internal"].get("maxRunSeconds")
    if end is None and longest is not None:
        end = (cloud.clock.now() + timedelta(seconds=longest)).isoformat()
        cloud.store.update(queued["name"], internal={**queued["internal"], "terminates": end})
    if end is None:
        return False
    await cloud.clock.sleep(max(0.0, _seconds_to(cloud, end)))
    await suspend(cloud, queued["name"], "SERVICE")
    return False


async def _finish_suspending(cloud: Cloud, queued: Json) -> bool:
    await suspend(cloud, queued["name"], queued["state"].get("stateInitiator", "SERVICE"))
    return False


def _seconds_to(cloud: Cloud, moment: str) -> float:
    return (datetime.fromisoformat(moment) - cloud.clock.now()).total_seconds()
