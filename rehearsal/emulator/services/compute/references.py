"""References to Compute Engine resources in every form that Google accepts, brought to one: the full name.

Forms: a URL (any host, any version), projects/P/..., a path inside the project (global/networks/n,
regions/r/subnetworks/s, zones/z/disks/d), a bare name. The official gcp plugin sends regions and zones as
projects/P/global/regions/R; Google accepts it, and so does this module.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from rehearsal.emulator.services.compute.refusals import invalid_field

Scope = Literal["global", "regions", "zones"]

_URL = re.compile(r"^https?://[^/]+/(?:compute/)?(?:v1|beta|alpha|v2|v2alpha1)/(?=projects/)")
_PROJECT = r"(?:projects/(?P<project>[a-z0-9.:-]+)/)?"
_NAME = r"(?P<name>[^/]+)"


@dataclass(frozen=True)
class Collection:
    """A kind of resource: its collection in the API, the word of error messages, and where it lives."""

    name: str
    noun: str
    scope: Scope

    def full_name(self, project: str, place: str | None, name: str) -> str:
        """projects/P/global/networks/N, projects/P/regions/R/subnetworks/S, ..."""
        where = "global" if self.scope == "global" else f"{self.scope}/{place}"
        return f"projects/{project}/{where}/{self.name}/{name}"


NETWORKS = Collection("networks", "network", "global")
FIREWALLS = Collection("firewalls", "firewall", "global")
IMAGES = Collection("images", "image", "global")
SUBNETWORKS = Collection("subnetworks", "subnetwork", "regions")
ROUTERS = Collection("routers", "router", "regions")
ADDRESSES = Collection("addresses", "address", "regions")
INSTANCES = Collection("instances", "instance", "zones")
DISKS = Collection("disks", "disk", "zones")
MACHINE_TYPES = Collection("machineTypes", "machine type", "zones")
DISK_TYPES = Collection("diskTypes", "disk type", "zones")


def resolve(value: str, collection: Collection, *, project: str, place: str | None = None, field: str) -> str:
    """The full name that `value` stands for, in `project` and `place` where it does not say.

    `place` is the region or zone of the request (None for global resources). Raises ApiError 400 naming
    `field` when the value is no reference to a resource of that collection.
    """
    path = _path(value)
    if "/" not in path:
        if path:
            return collection.full_name(project, place, path)
    else:
        where = "global" if collection.scope == "global" else f"{collection.scope}/(?P<place>[^/]+)"
        match = re.fullmatch(f"{_PROJECT}{where}/{collection.name}/{_NAME}", path)
        if match:
            groups = match.groupdict()
            return collection.full_name(groups["project"] or project, groups.get("place"), groups["name"])
    raise invalid_field(field, value, "The URL is malformed.")


def resolve_place(value: str, scope: Literal["regions", "zones"], *, field: str) -> str:
    """The bare name of the region or zone that `value` stands for; ApiError 400 naming `field` otherwise."""
    path = _path(value)
    if path and "/" not in path:
        return path
    match = re.fullmatch(f"{_PROJECT}(?:global/)?{scope}/{_NAME}", path)
    if match is None:
        raise invalid_field(field, value, "The URL is malformed.")
    return match["name"]


def last_part(full_name: str) -> str:
    """The bare name at the end of a full name."""
    return full_name.rsplit("/", 1)[-1]


def region_of(zone: str) -> str:
    """us-west4 for us-west4-a: a zone is its region and a letter or word more (us-central1-ai1a)."""
    return zone.rsplit("-", 1)[0]


def _path(value: str) -> str:
    return _URL.sub("", value).strip("/")
