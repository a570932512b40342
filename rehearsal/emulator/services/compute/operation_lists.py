"""The aggregated list of operations; the other methods of operations are in services/operations.py."""

from __future__ import annotations

from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.handlers import Call, Json, operation
from rehearsal.emulator.operations import KIND
from rehearsal.emulator.paging import compute_page
from rehearsal.emulator.services.compute import resources


@operation("compute.globalOperations.aggregatedList", differs="Filters do not matter; places without one are left out.")
async def aggregate_operations(call: Call, cloud: Cloud) -> Json:
    project = resources.project_of(call, cloud)
    found = [
        cloud.operations.render(name, body, call.base_url)
        for name, body in cloud.store.list(KIND, f"projects/{project}/")
        if body["style"] == "compute"
    ]
    path = f"projects/{project}/aggregated/operations"
    answer = compute_page(call, "compute#operationAggregatedList", path, found)
    scopes: Json = {}
    for shown in answer.pop("items", []):
        place = shown.get("zone") or shown.get("region")
        scope = "/".join(place.rsplit("/", 2)[-2:]) if place else "global"
        scopes.setdefault(scope, {"operations": []})["operations"].append(shown)
    return {**answer, "items": scopes}
