"""The host behind each instance: made, started, stopped, deleted, and brought back when it dies."""

from __future__ import annotations

import logging
from fnmatch import fnmatchcase

from rehearsal.emulator.background import Task, at_death, at_start, background
from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.errors import ApiError
from rehearsal.emulator.handlers import Json
from rehearsal.emulator.services.compute import (
    host_network,
    instance_parts,
    refusals,
    rendering,
    resources,
)
from rehearsal.emulator.services.compute.references import INSTANCES, last_part
from rehearsal.hosts.backend import HostsError, HostSpec, HostState

log = logging.getLogger(__name__)

CREATE = "compute.instances.create"
DELETE = "compute.instances.delete"
START = "compute.instances.start"
STOP = "compute.instances.stop"
RESET = "compute.instances.reset"
FAIL = "compute.instances.fail"
_SETTLED = ("RUNNING", "TERMINATED")
_ABSENT_POLL_SECONDS = 0.2


def host_spec(name: str, document: Json) -> HostSpec:
    """What to run for an instance whose addresses are taken."""
    interface = document["networkInterfaces"][0]
    return HostSpec(
        key=name,
        hostname=document["name"],
        zone=last_part(document["zone"]),
        subnetwork=interface["subnetwork"],
        ip=interface["networkIP"],
        tags=tuple(document["tags"].get("items", ())),
        nat=bool(interface.get("accessConfigs")),
    )


def check_settled(name: str, document: Json) -> None:
    """ApiError 400 while another operation moves the instance."""
    if document["status"] not in _SETTLED:
        raise refusals.not_ready(name)


@background(CREATE)
async def _create(task: Task, cloud: Cloud) -> Json | None:
    document = cloud.store.update(task.target, status="STAGING")
    if document is None:
        return None
    try:
        await _bring_up(cloud, task.target, document)
        if cloud.store.get(task.target) is None:
            # Deleted while its host was being made.
            await cloud.hosts.delete(task.target)
            return None
    except Exception:
        # As on Google, an instance whose creation failed is not there afterwards.
        await _take_away(cloud, task.target)
        raise
    _now_running(cloud, task.target)
    return None


@background(FAIL)
async def _fail(task: Task, _cloud: Cloud) -> Json | None:
    raise ApiError(400, task.args["message"], reason=task.args["reason"])


@background(DELETE)
async def _delete(task: Task, cloud: Cloud) -> Json | None:
    await _take_away(cloud, task.target)
    return None


@background(START)
async def _start(task: Task, cloud: Cloud) -> Json | None:
    document = cloud.store.get(task.target)
    if document is not None:
        await _bring_up(cloud, task.target, document)
        _now_running(cloud, task.target)
    return None


@background(STOP)
async def _stop(task: Task, cloud: Cloud) -> Json | None:
    if task.target in await cloud.hosts.states():
        await cloud.hosts.stop(task.target)
    cloud.store.update(task.target, status="TERMINATED", lastStopTimestamp=rendering.timestamp(cloud.clock.now()))
    return None


@background(RESET)
async def _reset(task: Task, cloud: Cloud) -> Json | None:
    await cloud.hosts.restart(task.target)
    return None


async def _bring_up(cloud: Cloud, name: str, document: Json) -> None:
    """Make the host, or start it when it is there; its subnetwork and firewall first."""
    spec = host_spec(name, document)
    while any(fnmatchcase(name, glob) for glob in cloud.settings.faults.hosts_that_never_come):
        await cloud.clock.sleep(_ABSENT_POLL_SECONDS)
        if cloud.store.get(name) is None:
            return
    await host_network.prepare(cloud, spec.subnetwork)
    state = (await cloud.hosts.states()).get(name, HostState.MISSING)
    if state is HostState.MISSING:
        await cloud.hosts.delete(name)
        await cloud.hosts.create(spec)
    elif state is not HostState.RUNNING:
        await cloud.hosts.start(name)


def _now_running(cloud: Cloud, name: str) -> None:
    cloud.store.update(
        name, status="RUNNING", statusMessage=None, lastStartTimestamp=rendering.timestamp(cloud.clock.now())
    )


async def _take_away(cloud: Cloud, name: str) -> None:
    """The host, its addresses, its disks where they are to go with it, and the instance itself."""
    await cloud.hosts.delete(name)
    document = cloud.store.get(name)
    with cloud.store.transaction():
        instance_parts.give_back_addresses(cloud, name)
        cloud.store.drop_guest_attributes(name)
        for disk in (document or {}).get("disks", ()):
            if disk["autoDelete"]:
                cloud.store.delete(disk["source"])
        cloud.store.delete(name)


@at_death
async def _died(cloud: Cloud, key: str) -> None:
    if cloud.store.kind_of(key) == resources.kind(INSTANCES):
        cloud.spawn(f"repair {key}", _repair(cloud, key))


@at_start
async def _look_after(cloud: Cloud) -> None:
    states = await cloud.hosts.states()
    for name, document in cloud.store.list(resources.kind(INSTANCES)):
        gone = states.get(name, HostState.MISSING) is not HostState.RUNNING
        if document["status"] == "RUNNING" and gone:
            cloud.spawn(f"repair {name}", _repair(cloud, name))


async def _repair(cloud: Cloud, name: str) -> None:
    """What Compute Engine does after a host error: restart the instance, or leave it TERMINATED."""
    document = cloud.store.get(name)
    if document is None or document["status"] != "RUNNING":
        return
    if not document["scheduling"]["automaticRestart"] or cloud.settings.faults.repair == "never":
        cloud.store.update(name, status="TERMINATED")
        return
    await cloud.clock.sleep(cloud.settings.timings.repair)
    document = cloud.store.get(name)
    if document is not None and document["status"] == "RUNNING":
        try:
            await _bring_up(cloud, name, document)
        except HostsError as trouble:
            log.warning("instance %s cannot be restarted: %s", name, trouble)
            cloud.store.update(name, status="TERMINATED", statusMessage=str(trouble))
        else:
            _now_running(cloud, name)
