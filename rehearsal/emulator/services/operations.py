"""operations.get, list, wait, cancel and delete, of TPU and of Compute."""

from __future__ import annotations

from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.errors import not_found
from rehearsal.emulator.handlers import Call, Json, operation
from rehearsal.emulator.operations import KIND
from rehearsal.emulator.paging import compute_page, page

WAIT_SECONDS = 120.0
"""Compute's wait returns after two minutes at the latest."""


def _stored(cloud: Cloud, name: str, shown: str) -> Json:
    body = cloud.store.get(name)
    if body is None or cloud.store.kind_of(name) != KIND:
        raise not_found(shown)
    return body


@operation("tpu.projects.locations.operations.get", checked="google-cloud-tpu, google-api-python-client, gcloud")
async def get_tpu_operation(call: Call, cloud: Cloud) -> Json:
    name = call.path["name"]
    return cloud.operations.render(name, _stored(cloud, name, f"Operation {name} not found"), call.base_url)


@operation("tpu.projects.locations.operations.list")
async def list_tpu_operations(call: Call, cloud: Cloud) -> Json:
    found = cloud.store.list(KIND, f"{call.path['name']}/operations/")
    shown = [cloud.operations.render(name, body, call.base_url) for name, body in found]
    return page(call, "operations", shown)


@operation("tpu.projects.locations.operations.cancel", differs="stops creations only")
async def cancel_tpu_operation(call: Call, cloud: Cloud) -> Json:
    name = call.path["name"]
    stored = _stored(cloud, name, f"Operation {name} not found")
    # Cancelling is best effort at Google too. A deletion that stopped half way would help nobody.
    if stored.get("verb") == "create":
        cloud.operations.cancel(name)
    return {}


@operation("tpu.projects.locations.operations.delete")
async def delete_tpu_operation(call: Call, cloud: Cloud) -> Json:
    name = call.path["name"]
    _stored(cloud, name, f"Operation {name} not found")
    cloud.store.delete(name)
    return {}


def _compute_name(call: Call) -> str:
    return f"{_compute_scope(call)}/operations/{call.path['operation']}"


def _compute_scope(call: Call) -> str:
    project = f"projects/{call.path['project']}"
    for place in ("zone", "region"):
        if place in call.path:
            return f"{project}/{place}s/{call.path[place]}"
    return f"{project}/global"


async def _get(call: Call, cloud: Cloud) -> Json:
    name = _compute_name(call)
    body = _stored(cloud, name, f"The resource '{name}' was not found")
    return cloud.operations.render(name, body, call.base_url)


async def _wait(call: Call, cloud: Cloud) -> Json:
    await cloud.operations.wait(_compute_name(call), WAIT_SECONDS)
    return await _get(call, cloud)


async def _list(call: Call, cloud: Cloud) -> Json:
    found = cloud.store.list(KIND, f"{_compute_scope(call)}/operations/")
    shown = [cloud.operations.render(name, body, call.base_url) for name, body in found]
    return compute_page(call, "compute#operationList", _compute_scope(call) + "/operations", shown)


async def _delete(call: Call, cloud: Cloud) -> Json:
    await _get(call, cloud)
    cloud.store.delete(_compute_name(call))
    return {}


for _collection in ("globalOperations", "regionOperations", "zoneOperations"):
    operation(f"compute.{_collection}.get", checked="google-cloud-compute, pulumi-gcp")(_get)
    operation(f"compute.{_collection}.wait", checked="google-cloud-compute")(_wait)
    operation(f"compute.{_collection}.list")(_list)
    operation(f"compute.{_collection}.delete")(_delete)
