"""Stored resources as answers: references become URLs of the caller's API version, fingerprints are added.

A stored resource holds references as full names ("projects/P/global/networks/N"), so that one document
serves v1 and beta, and neither `kind`, `selfLink` nor fingerprints, which follow from it. Fields that start
with an underscore are the emulator's own.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from rehearsal.emulator.handlers import Call, Json
from rehearsal.emulator.paging import compute_page
from rehearsal.emulator.services.compute import list_filter
from rehearsal.emulator.services.compute.references import Collection
from rehearsal.emulator.services.compute.refusals import invalid_field

_REFERENCES = frozenset(
    {
        "deprecated",
        "diskType",
        "licenses",
        "machineType",
        "name",
        "natIps",
        "drainNatIps",
        "network",
        "region",
        "source",
        "sourceImage",
        "subnetwork",
        "subnetworks",
        "type",
        "users",
        "zone",
        "zones",
    }
)
"""Fields whose value, when it starts with projects/, is a reference. None of them is free text."""

NOTHING = "42WmSpB8rSM="
"""Google's fingerprint of no labels and of no tags."""

_VOLATILE = frozenset({"status", "lastStartTimestamp", "lastStopTimestamp", "_deleting"})
"""What changes by itself is no part of a fingerprint."""

_GOOGLE_TIME = timezone(timedelta(hours=-8))
_KINDS = {"machineTypes": "machineType", "diskTypes": "diskType", "addresses": "address"}


def timestamp(moment: datetime) -> str:
    """Compute Engine writes times of California, with milliseconds: 2026-11-21T05:22:33.123-08:00."""
    return moment.astimezone(_GOOGLE_TIME).isoformat(timespec="milliseconds")


def fingerprint(value: object) -> str:
    """Eight bytes in base64 that change with the value."""
    if not value:
        return NOTHING
    digest = hashlib.sha256(json.dumps(value, sort_keys=True).encode()).digest()
    return base64.b64encode(digest[:8]).decode()


def same_fingerprint(given: str | None, current: str) -> bool:
    """Whether two fingerprints are one; clients may send base64 in either alphabet."""
    return given is not None and given.replace("-", "+").replace("_", "/") == current


def kind_of(collection: Collection | str) -> str:
    """compute#network for networks."""
    name = collection if isinstance(collection, str) else collection.name
    return f"compute#{_KINDS.get(name, name.removesuffix('s'))}"


def urls(call: Call, value: Any, key: str = "") -> Any:
    """A copy of a JSON value with every reference in it as a URL."""
    if isinstance(value, Mapping):
        # Labels may be called like a field of ours, and hold any text.
        return {name: item if name == "labels" else urls(call, item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [urls(call, item, key) for item in value]
    if isinstance(value, str) and key in _REFERENCES and value.startswith("projects/"):
        return call.base_url + value
    return value


def rendered(call: Call, name: str, document: Mapping[str, Any], collection: Collection) -> Json:
    """The resource as Google shows it: kind, selfLink and fingerprints added, references as URLs."""
    public = {key: value for key, value in document.items() if not key.startswith("_")}
    shown: Json = {"kind": kind_of(collection), **urls(call, public), "selfLink": call.base_url + name}
    add = _FINGERPRINTS.get(collection.name)
    if add is not None:
        add(shown, document)
    return shown


def listed(call: Call, items: Iterable[Json], collection: Collection | str, path: str) -> Json:
    """The answer of a list method: filter, order and page as the query asks.

    `path` is the collection's: "projects/P/global/networks".
    """
    return compute_page(call, f"{kind_of(collection)}List", path, _chosen(call, items))


def aggregated(call: Call, items: Iterable[Json], collection: Collection, places: Iterable[str]) -> Json:
    """The answer of an aggregated list; every resource has a `zone` or `region` that is a URL.

    `places` are all that exist ("zones/us-west4-a"); one without a resource says so with Google's warning.
    """
    path = f"projects/{call.path['project']}/aggregated/{collection.name}"
    answer = compute_page(call, f"{kind_of(collection)}AggregatedList", path, _chosen(call, items))
    scopes: Json = {place: {"warning": _empty(place)} for place in places}
    for item in answer.pop("items", []):
        # A machine type's zone is a bare name, every other resource's is a URL.
        place = f"{collection.scope}/{str(item[collection.scope.removesuffix('s')]).rsplit('/', 1)[-1]}"
        if "warning" in scopes.setdefault(place, {}):
            scopes[place] = {}
        scopes[place].setdefault(collection.name, []).append(item)
    return {**answer, "items": scopes}


def _empty(place: str) -> Json:
    return {
        "code": "NO_RESULTS_ON_PAGE",
        "message": f"There are no results for scope '{place}' on this page.",
        "data": [{"key": "scope", "value": place}],
    }


def _chosen(call: Call, items: Iterable[Json]) -> list[Json]:
    chosen = list(items)
    if call.query.get("filter"):
        matches = list_filter.parse(call.query["filter"])
        chosen = [item for item in chosen if matches(item)]
    order = call.query.get("orderBy") or "name"
    if order == "creationTimestamp desc":
        return sorted(chosen, key=lambda item: str(item.get("creationTimestamp", "")), reverse=True)
    if order not in ("name", "name asc"):
        raise invalid_field("orderBy", order, "Only 'name' and 'creationTimestamp desc' are supported.")
    return sorted(chosen, key=lambda item: str(item.get("name", "")))


def _whole(shown: Json, document: Mapping[str, Any]) -> None:
    shown["fingerprint"] = fingerprint({key: value for key, value in document.items() if key not in _VOLATILE})


def _labels(shown: Json, document: Mapping[str, Any]) -> None:
    shown["labelFingerprint"] = fingerprint(document.get("labels"))


def _instance(shown: Json, document: Mapping[str, Any]) -> None:
    _whole(shown, document)
    _labels(shown, document)
    # Google leaves out what is empty.
    shown["tags"] = {key: value for key, value in shown["tags"].items() if value}
    shown["metadata"] = {key: value for key, value in shown["metadata"].items() if value}
    shown["tags"] = {**shown["tags"], "fingerprint": fingerprint(document["tags"].get("items"))}
    shown["metadata"] = {
        "kind": "compute#metadata",
        **shown["metadata"],
        "fingerprint": fingerprint(document["metadata"]),
    }
    for interface, stored in zip(shown["networkInterfaces"], document["networkInterfaces"], strict=True):
        interface["fingerprint"] = fingerprint(stored)


_FINGERPRINTS = {"subnetworks": _whole, "instances": _instance, "disks": _labels, "addresses": _labels}
