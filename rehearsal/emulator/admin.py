"""The emulator's own API, under /_emulator: status, settings, trouble on purpose, reset."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable

import psutil
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.errors import ApiError, unauthenticated
from rehearsal.emulator.handlers import Json
from rehearsal.emulator.operations import KIND as OPERATION_KIND
from rehearsal.emulator.services.tpu import lifetimes
from rehearsal.emulator.services.tpu.capacity import QUEUED_KIND
from rehearsal.emulator.services.tpu.nodes_stored import nodes, shown_node, stored_node, worker_keys
from rehearsal.emulator.settings import EmulatorSettings

Admin = Callable[[Request, Cloud], Awaitable[Json]]


def admin_routes(cloud: Cloud) -> list[Route]:
    """Routes that need the user's token (a service account's does not do)."""

    def guarded(admin: Admin) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            code = 200
            try:
                token = request.headers.get("authorization", "").removeprefix("Bearer ")
                if cloud.tokens.caller(token) != "rehearsal-user":
                    raise unauthenticated(missing=not token)
                body = await admin(request, cloud)
            except ApiError as error:
                code, body = error.http_code, error.body("emulator")
            return Response(json.dumps(body), code, media_type="application/json")

        return endpoint

    return [
        Route("/_emulator/status", guarded(_status), methods=["GET"]),
        Route("/_emulator/settings", guarded(_settings), methods=["GET", "PUT", "PATCH"]),
        Route("/_emulator/nodes/{name:path}:{verb}", guarded(_trouble), methods=["POST"]),
        Route("/_emulator/reset", guarded(_reset), methods=["POST"]),
    ]


async def _status(_request: Request, cloud: Cloud) -> Json:
    hosts = await cloud.hosts.states()
    return {
        "project": cloud.project,
        "pid": os.getpid(),
        "memory_bytes": psutil.Process().memory_info().rss,
        "hosts": {key: state.value for key, state in sorted(hosts.items())},
        "nodes": [
            {
                "name": node["name"],
                "state": node["state"],
                "health": node.get("health"),
                "accelerator_type": node["acceleratorType"],
                "addresses": [endpoint["ipAddress"] for endpoint in node.get("networkEndpoints", [])],
            }
            for node in nodes(cloud)
        ],
        "queued_resources": [
            {"name": name, "state": queued["state"]["state"]} for name, queued in cloud.store.list(QUEUED_KIND)
        ],
        "instances": [
            {"name": name, "state": instance.get("status")} for name, instance in cloud.store.list("compute.instance")
        ],
        "networks": [name for name, _ in cloud.store.list("compute.network")],
        "subnetworks": [
            {"name": name, "ip_cidr_range": subnetwork["ipCidrRange"]}
            for name, subnetwork in cloud.store.list("compute.subnetwork")
        ],
        "running_operations": [
            {"name": name, "target": body["target"], "since": body["created"]}
            for name, body in cloud.store.list(OPERATION_KIND)
            if body["status"] != "DONE"
        ],
    }


async def _settings(request: Request, cloud: Cloud) -> Json:
    if request.method != "GET":
        try:
            given = await request.json()
        except ValueError as problem:
            raise ApiError(400, f"The settings are not JSON: {problem}") from None
        base = cloud.settings.model_dump() if request.method == "PATCH" else {}
        try:
            settings = EmulatorSettings.model_validate(_merged(base, given))
        except ValidationError as problem:
            first = problem.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise ApiError(400, f"Emulator setting {where or 'root'}: {first['msg']}.") from None
        for fault in settings.faults.api:
            fault.since = fault.since or cloud.clock.timestamp()
        cloud.save_settings(settings)
    return cloud.settings.model_dump(mode="json")


async def _trouble(request: Request, cloud: Cloud) -> Json:
    """Preempt a node, hold its maintenance, or cut the power of one of its hosts."""
    name, verb = request.path_params["name"], request.path_params["verb"]
    node = stored_node(cloud, name)
    workers = worker_keys(node)
    given = request.query_params.get("worker")
    if given is not None and (not given.isdigit() or int(given) >= len(workers)):
        raise ApiError(400, f"{name} has no worker {given}; its workers are 0 to {len(workers) - 1}.")
    if verb == "preempt":
        await lifetimes.preempt(cloud, name)
    elif verb == "maintain":
        chosen = range(len(workers)) if given is None else [int(given)]
        await lifetimes.maintain(cloud, name, list(chosen))
    elif verb == "fail-host":
        await cloud.hosts.kill(workers[int(given or 0)])
    else:
        raise ApiError(404, f"A node can be told preempt, maintain or fail-host, not {verb}.")
    left = cloud.store.get(name)
    return shown_node(left, "v2alpha1") if left else {}


async def _reset(_request: Request, cloud: Cloud) -> Json:
    await cloud.reset()
    return {}


def _merged(base: object, change: object) -> object:
    if isinstance(base, dict) and isinstance(change, dict):
        return {**base, **{key: _merged(base.get(key), value) for key, value in change.items()}}
    return change
