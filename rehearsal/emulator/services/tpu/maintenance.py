"""simulateMaintenanceEvent, performMaintenance, and the maintenance of queued resources' nodes."""

from __future__ import annotations

from rehearsal.emulator.background import Task, background
from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.handlers import Call, Json, operation
from rehearsal.emulator.services.tpu import lifetimes
from rehearsal.emulator.services.tpu.catalog import split_parent
from rehearsal.emulator.services.tpu.nodes_stored import shown_node, stored_node, worker_keys
from rehearsal.emulator.services.tpu.queued_stored import stored_queued
from rehearsal.emulator.services.tpu.refusals import bad_request, not_found, wrong_state


@background("tpu.node.maintain")
async def maintain_node(task: Task, cloud: Cloud) -> Json:
    node = await lifetimes.maintain(cloud, task.target, task.args["workers"])
    if node is None:
        raise not_found(task.target)
    return shown_node(node, task.args["version"])


@operation(
    "tpu.projects.locations.nodes.simulateMaintenanceEvent",
    differs="the host reboots at once; Google gives notice first",
)
async def simulate_maintenance_event(call: Call, cloud: Cloud) -> Json:
    split_parent(cloud, call.path["name"])
    node = stored_node(cloud, call.path["name"])
    # Google fires on the first worker that is named, and on worker 0 when none is.
    given = call.body.get("workerIds") or ["0"]
    return _begin(call, cloud, node, [_worker(node, given[0])], "simulateMaintenanceEvent")


@operation("tpu.projects.locations.nodes.performMaintenance", differs="needs no pending maintenance")
async def perform_maintenance(call: Call, cloud: Cloud) -> Json:
    split_parent(cloud, call.path["name"])
    node = stored_node(cloud, call.path["name"])
    return _begin(call, cloud, node, list(range(node["internal"]["workers"])), "performMaintenance")


@background("tpu.queuedResource.maintain")
async def maintain_queued(task: Task, cloud: Cloud) -> None:
    for name in task.args["nodes"]:
        node = cloud.store.get(name)
        if node is not None:
            await lifetimes.maintain(cloud, name, list(range(node["internal"]["workers"])))


@operation("tpu.projects.locations.queuedResources.performMaintenanceQueuedResource")
async def perform_queued_maintenance(call: Call, cloud: Cloud) -> Json:
    split_parent(cloud, call.path["name"])
    queued = stored_queued(cloud, call.path["name"])
    own = {node["name"].rpartition("/")[2]: node["name"] for node in queued["internal"]["nodes"]}
    wanted = call.body.get("nodeNames") or list(own)
    strangers = [name for name in wanted if name.rpartition("/")[2] not in own]
    if strangers:
        raise bad_request(f'the node "{strangers[0]}" does not belong to {queued["name"]}')
    names = [own[name.rpartition("/")[2]] for name in wanted]
    return cloud.operations.begin_tpu(
        call,
        queued["name"].partition("/queuedResources/")[0],
        "performMaintenance",
        queued["name"],
        "tpu.queuedResource.maintain",
        {"nodes": names},
    )


@operation("tpu.projects.locations.queuedResources.getMaintenanceInfo")
async def get_maintenance_info(call: Call, cloud: Cloud) -> Json:
    split_parent(cloud, call.path["name"])
    queued = stored_queued(cloud, call.path["name"])
    found = []
    for planned in queued["internal"]["nodes"]:
        node = cloud.store.get(planned["name"])
        if node is not None and node.get("upcomingMaintenance"):
            found.append(
                {
                    "nodeName": node["name"].rpartition("/")[2],
                    "nodeUid": node["id"],
                    "upcomingMaintenance": node["upcomingMaintenance"],
                }
            )
    return {"nodeUpcomingMaintenances": found} if found else {}


def _worker(node: Json, given: str) -> int:
    if not given.isdigit() or int(given) >= len(worker_keys(node)):
        raise bad_request(f'worker "{given}" does not exist on {node["name"]}')
    return int(given)


def _begin(call: Call, cloud: Cloud, node: Json, workers: list[int], verb: str) -> Json:
    if node["state"] != "READY":
        raise wrong_state(verb, node["state"])
    arguments = {"version": call.version, "workers": workers}
    parent = node["name"].partition("/nodes/")[0]
    return cloud.operations.begin_tpu(call, parent, verb, node["name"], "tpu.node.maintain", arguments, "Node")
