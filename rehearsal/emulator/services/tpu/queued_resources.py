"""queuedResources.create, get, list, delete, reset."""

from __future__ import annotations

from rehearsal.emulator.background import Task, background
from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.errors import failed_precondition
from rehearsal.emulator.handlers import Call, Json, operation
from rehearsal.emulator.paging import page
from rehearsal.emulator.services.tpu import queue
from rehearsal.emulator.services.tpu.capacity import check_quota
from rehearsal.emulator.services.tpu.catalog import split_parent, zones
from rehearsal.emulator.services.tpu.idempotence import answered_before, remember
from rehearsal.emulator.services.tpu.nodes_stored import zone_of
from rehearsal.emulator.services.tpu.queued_request import new_queued
from rehearsal.emulator.services.tpu.queued_stored import KIND, enter, shown_queued, stored_queued
from rehearsal.emulator.services.tpu.refusals import already_exists, not_found
from rehearsal.emulator.services.tpu.workers import on_all

_HOLDS_NODES = {"ACTIVE", "PROVISIONING", "SUSPENDING"}
"""States in which a deletion needs force."""


@operation("tpu.projects.locations.queuedResources.create", checked="google-cloud-tpu, gcloud, recorded pulumi-gcp")
async def create_queued(call: Call, cloud: Cloud) -> Json:
    parent = call.path["parent"]
    _, zone = split_parent(cloud, parent)
    earlier = answered_before(call, cloud, parent)
    if earlier is not None:
        return earlier
    queued = new_queued(cloud, zone, call.query.get("queuedResourceId", ""), call.body, call.version)
    name = queued["name"]
    if cloud.store.get(name) is not None:
        raise already_exists(name)
    check_quota(cloud, zone, queued["internal"]["nodes"])
    cloud.store.insert(KIND, name, queued)
    queue.drive(cloud, name)
    began = _begin(call, cloud, name, "create", "QueuedResource")
    return remember(call, cloud, parent, began)


@background("tpu.queuedResource.create")
async def create_queued_work(task: Task, cloud: Cloud) -> Json:
    # The operation is about the request alone: it ends when the request is in the queue.
    await cloud.clock.sleep(cloud.settings.timings.queue)
    return shown_queued(_still(cloud, task.target), task.args["version"])


@operation("tpu.projects.locations.queuedResources.get", checked="google-cloud-tpu, gcloud, recorded pulumi-gcp")
async def get_queued(call: Call, cloud: Cloud) -> Json:
    split_parent(cloud, call.path["name"])
    return shown_queued(stored_queued(cloud, _full(call, cloud)), call.version)


@operation("tpu.projects.locations.queuedResources.list", checked="google-cloud-tpu, gcloud")
async def list_queued(call: Call, cloud: Cloud) -> Json:
    _, zone = split_parent(cloud, call.path["parent"])
    wanted = zones() if zone == "-" else [zone]
    found = [queued for name, queued in cloud.store.list(KIND) if zone_of(name) in wanted]
    return page(call, "queuedResources", [shown_queued(queued, call.version) for queued in found])


@operation(
    "tpu.projects.locations.queuedResources.delete",
    checked="google-cloud-tpu, gcloud, recorded pulumi-gcp",
    differs="the wording of the refusal",
)
async def delete_queued(call: Call, cloud: Cloud) -> Json:
    split_parent(cloud, call.path["name"])
    queued = stored_queued(cloud, _full(call, cloud))
    name, state = queued["name"], queued["state"]["state"]
    if state in _HOLDS_NODES and not call.query.get("force"):
        raise failed_precondition(
            f"QueuedResource '{name}' is in state {state} and has nodes; delete them first, or set force=true."
        )
    queue.let_be(cloud, name)
    enter(cloud, name, "DELETING", initiator="USER")
    return _begin(call, cloud, name, "delete", None)


@background("tpu.queuedResource.delete")
async def delete_queued_work(task: Task, cloud: Cloud) -> None:
    await queue.stopped(cloud, task.target)
    await cloud.clock.sleep(cloud.settings.timings.node_delete)
    queued = cloud.store.get(task.target)
    for planned in queued["internal"]["nodes"] if queued else ():
        node = cloud.store.get(planned["name"])
        if node is not None and node.get("queuedResource") == task.target:
            await queue.remove_node(cloud, node)
    cloud.store.delete(task.target)


@operation(
    "tpu.projects.locations.queuedResources.reset",
    differs="restarts the hosts of an ACTIVE request; what Google does in other states is not known",
)
async def reset_queued(call: Call, cloud: Cloud) -> Json:
    split_parent(cloud, call.path["name"])
    queued = stored_queued(cloud, _full(call, cloud))
    state = queued["state"]["state"]
    if state != "ACTIVE":
        raise failed_precondition(f"QueuedResource '{queued['name']}' is in state {state}; only ACTIVE can be reset.")
    return _begin(call, cloud, queued["name"], "reset", "QueuedResource")


@background("tpu.queuedResource.reset")
async def reset_queued_work(task: Task, cloud: Cloud) -> Json:
    queued = _still(cloud, task.target)
    nodes = [node for planned in queued["internal"]["nodes"] if (node := cloud.store.get(planned["name"]))]
    for node in nodes:
        cloud.store.update(node["name"], state="RESTARTING")
    await cloud.clock.sleep(cloud.settings.timings.node_start)
    for node in nodes:
        await on_all(cloud.hosts.restart, node)
        cloud.store.update(node["name"], state="READY")
    return shown_queued(_still(cloud, task.target), task.args["version"])


def _still(cloud: Cloud, name: str) -> Json:
    queued = cloud.store.get(name)
    if queued is None:
        raise not_found(name)
    return queued


def _full(call: Call, cloud: Cloud) -> str:
    parts = call.path["name"].split("/")
    return "/".join([parts[0], cloud.project, *parts[2:]])


def _begin(call: Call, cloud: Cloud, name: str, verb: str, response_type: str | None) -> Json:
    parent = name.partition("/queuedResources/")[0]
    arguments = {"version": call.version}
    work = f"tpu.queuedResource.{verb}"
    return cloud.operations.begin_tpu(call, parent, verb, name, work, arguments, response_type)
