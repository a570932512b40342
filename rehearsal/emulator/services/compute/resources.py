"""What every kind of Compute resource shares: being found, made, changed and shown."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.handlers import Call, Handler, Json, operation
from rehearsal.emulator.operations import KIND as OPERATION
from rehearsal.emulator.operations import number_of
from rehearsal.emulator.services.compute import catalog, refusals, rendering
from rehearsal.emulator.services.compute.references import Collection
from rehearsal.emulator.store import NameTaken

_REQUEST = "compute.request"


def kind(collection: Collection) -> str:
    """The kind under which the store keeps a collection: compute.network for networks."""
    return rendering.kind_of(collection).replace("#", ".")


def project_of(call: Call, cloud: Cloud) -> str:
    """The project of the request, by id also when it was given by number; ApiError 404 for any other."""
    asked = call.path["project"]
    if asked not in (cloud.project, cloud.project_number):
        raise refusals.not_found(f"projects/{asked}")
    return cloud.project


def place_of(call: Call) -> str | None:
    """The region or zone in the request's path, None for a global method; ApiError 400 for an unknown one."""
    if "zone" in call.path:
        if call.path["zone"] not in catalog.REGION_OF_ZONE:
            raise refusals.invalid_field("zone", call.path["zone"], "Unknown zone.")
        return call.path["zone"]
    if "region" in call.path:
        if call.path["region"] not in catalog.ZONES:
            raise refusals.invalid_field("region", call.path["region"], "Unknown region.")
        return call.path["region"]
    return None


def full_name(call: Call, cloud: Cloud, collection: Collection, name: str) -> str:
    """The full name of a resource in the project and place of the request."""
    return collection.full_name(project_of(call, cloud), place_of(call), name)


def path_of(call: Call, cloud: Cloud, collection: Collection) -> str:
    """The path of a collection in the request's place: projects/P/regions/R/subnetworks."""
    return full_name(call, cloud, collection, "").removesuffix("/")


def find(call: Call, cloud: Cloud, collection: Collection, name: str) -> tuple[str, Json]:
    """(full name, document) of the resource that the path names; ApiError 404 when there is none."""
    found = full_name(call, cloud, collection, name)
    return found, existing(cloud, collection, found)


def existing(cloud: Cloud, collection: Collection, name: str) -> Json:
    """The document of a full name; ApiError 404 when there is none."""
    document = cloud.store.get(name) if cloud.store.kind_of(name) == kind(collection) else None
    if document is None:
        raise refusals.not_found(name)
    return document


def referenced(cloud: Cloud, collection: Collection, name: str, given: object, field: str) -> Json:
    """The document that a field of a request refers to; ApiError 400 naming the field when there is none."""
    document = cloud.store.get(name) if cloud.store.kind_of(name) == kind(collection) else None
    if document is None:
        raise refusals.invalid_field(field, given, f"The referenced {collection.noun} resource cannot be found.")
    return document


def add(cloud: Cloud, collection: Collection, name: str, fields: Mapping[str, Any]) -> Json:
    """Keep a new resource; returns its document. ApiError 409 when the name is taken."""
    now = cloud.clock.now()
    document: Json = {
        **fields,
        "id": number_of(f"{name} {now.timestamp()}"),
        "creationTimestamp": rendering.timestamp(now),
    }
    try:
        cloud.store.insert(kind(collection), name, document)
    except NameTaken:
        raise refusals.already_exists(name) from None
    return document


def check_free(cloud: Cloud, name: str) -> None:
    """ApiError 409 when a resource of this name exists already."""
    if cloud.store.kind_of(name) is not None:
        raise refusals.already_exists(name)


def begin(
    call: Call,
    cloud: Cloud,
    name: str,
    operation_type: str,
    document: Mapping[str, Any],
    work: str | None = None,
    args: Json | None = None,
) -> Json:
    """Begin an operation on the resource `name`, in the place where it lives."""
    parts = name.split("/")
    scope = "/".join(parts[:3] if parts[2] == "global" else parts[:4])
    return cloud.operations.begin_compute(
        call, scope, operation_type, name, work=work, args=args, target_id=document.get("id")
    )


def listing(call: Call, cloud: Cloud, collection: Collection) -> Json:
    """The answer of a collection's list method."""
    path = path_of(call, cloud, collection)
    items = [
        rendering.rendered(call, name, document, collection)
        for name, document in cloud.store.list(kind(collection), f"{path}/")
    ]
    return rendering.listed(call, items, collection, path)


def aggregate(call: Call, cloud: Cloud, collection: Collection) -> Json:
    """The answer of a collection's aggregatedList method."""
    under = f"projects/{project_of(call, cloud)}/"
    items = [
        rendering.rendered(call, name, document, collection)
        for name, document in cloud.store.list(kind(collection), under)
    ]
    places = catalog.REGION_OF_ZONE if collection.scope == "zones" else catalog.ZONES
    return rendering.aggregated(call, items, collection, [f"{collection.scope}/{place}" for place in places])


def mutation(method_id: str, *, checked: str = "", differs: str = "") -> Callable[[Handler], Handler]:
    """Register a handler that answers an operation; the same requestId again answers the same operation."""

    def register(handler: Handler) -> Handler:
        @functools.wraps(handler)
        async def once(call: Call, cloud: Cloud) -> Json:
            request = call.query.get("requestId")
            if request is None:
                return await handler(call, cloud)
            _check_request_id(request)
            key = f"compute-requests/{call.method_id}/{request}"
            before = cloud.store.get(key)
            if before is not None and (began := cloud.store.get(before["operation"])) is not None:
                return cloud.operations.render(before["operation"], began, call.base_url)
            answer = await handler(call, cloud)
            name = str(answer["selfLink"]).removeprefix(call.base_url)
            if cloud.store.kind_of(name) == OPERATION:
                cloud.store.put(_REQUEST, key, {"operation": name})
            return answer

        return operation(method_id, checked=checked, differs=differs)(once)

    return register


def _check_request_id(request: str) -> None:
    try:
        valid = uuid.UUID(request).int != 0
    except ValueError:
        valid = False
    if not valid:
        raise refusals.invalid_field("requestId", request, "Must be a UUID that is not zero.")
