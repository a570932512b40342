"""What goes on after nodes.create, delete, patch, start and stop have answered."""

from __future__ import annotations

import asyncio

from rehearsal.emulator.background import Task, background
from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.errors import ApiError
from rehearsal.emulator.handlers import Json
from rehearsal.emulator.services.tpu import lifetimes, queue
from rehearsal.emulator.services.tpu.capacity import shortage
from rehearsal.emulator.services.tpu.nodes_stored import set_internal, shown_node, worker_keys
from rehearsal.emulator.services.tpu.refusals import bad_request
from rehearsal.emulator.services.tpu.workers import bring_up, on_all, tear_down


@background("tpu.node.create")
async def create_node(task: Task, cloud: Cloud) -> Json:
    """Capacity, addresses, hosts; a failure leaves nothing behind, as at Google."""
    node = _still_there(cloud, task.target)
    try:
        if not node["internal"]["allocated"]:
            lacking = shortage(cloud, [node])
            if lacking is not None:
                await cloud.clock.sleep(cloud.settings.timings.stockout)
                raise lacking
            node = set_internal(cloud, task.target, allocated=True) or node
        node = await bring_up(cloud, node)
    except BaseException:
        # A halted emulator takes this up again; in every other case the node is rolled back.
        if not cloud.operations.halting:
            await asyncio.shield(_roll_back(cloud, node))
        raise
    lifetimes.watch(cloud, node)
    return shown_node(node, task.args["version"])


@background("tpu.node.delete")
async def delete_node(task: Task, cloud: Cloud) -> None:
    node = cloud.store.get(task.target)
    if node is None:
        return
    await lifetimes.forget(cloud, task.target)
    for running in cloud.operations.running_on(task.target):
        # A creation that still goes on is given up first.
        if running != task.operation:
            cloud.operations.cancel(running)
            await cloud.operations.wait(running, 60)
    await cloud.clock.sleep(cloud.settings.timings.node_delete)
    await tear_down(cloud, node)
    cloud.store.delete(task.target)
    queue.node_deleted(cloud, node)


@background("tpu.node.update")
async def update_node(task: Task, cloud: Cloud) -> Json:
    await cloud.clock.sleep(cloud.settings.timings.node_patch)
    _still_there(cloud, task.target)
    node = cloud.store.update(task.target, **task.args["fields"]) or {}
    if "tags" in task.args["fields"]:
        for key in worker_keys(node):
            await cloud.hosts.set_tags(key, node.get("tags", []))
    return shown_node(node, task.args["version"])


@background("tpu.node.stop")
async def stop_node(task: Task, cloud: Cloud) -> Json:
    node = _still_there(cloud, task.target)
    await cloud.clock.sleep(cloud.settings.timings.node_stop)
    await on_all(cloud.hosts.stop, node)
    set_internal(cloud, task.target, allocated=False)
    stopped = cloud.store.update(task.target, state="STOPPED", health=None) or node
    return shown_node(stopped, task.args["version"])


@background("tpu.node.start")
async def start_node(task: Task, cloud: Cloud) -> Json:
    node = _still_there(cloud, task.target)
    lacking = None if node["internal"]["allocated"] else shortage(cloud, [node])
    if lacking is not None:
        cloud.store.update(task.target, state="STOPPED")
        raise lacking
    set_internal(cloud, task.target, allocated=True)
    await cloud.clock.sleep(cloud.settings.timings.node_start)
    await on_all(cloud.hosts.start, node)
    started = cloud.store.update(task.target, state="READY", health="HEALTHY") or node
    return shown_node(started, task.args["version"])


async def _roll_back(cloud: Cloud, node: Json) -> None:
    await tear_down(cloud, node)
    current = cloud.store.get(node["name"])
    if current is not None and current["state"] == "CREATING":
        cloud.store.delete(node["name"])


def _still_there(cloud: Cloud, name: str) -> Json:
    node = cloud.store.get(name)
    if node is None:
        raise ApiError(409, bad_request(f"{name} was deleted meanwhile").message, status="ABORTED")
    return node
