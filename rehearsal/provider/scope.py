"""Where a resource lives: project, zone and region from the resource itself, else from the provider's configuration."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rehearsal.provider.kinds import Kind
from rehearsal.provider.links import last_part


class ScopeError(Exception):
    """Project, zone or region is said nowhere; the text is the plugin's own."""


@dataclass(frozen=True)
class Defaults:
    """gcp:project, gcp:zone and gcp:region; empty where the stack does not say them."""

    project: str = ""
    zone: str = ""
    region: str = ""


_UNSAID = {
    "project": "project: required field is not set",
    "zone": "Cannot determine zone: set in this resource, or set provider-level zone.",
    "region": "Cannot determine region: set in this resource, or set provider-level 'region' or 'zone'.",
}


def scope_of(kind: Kind, properties: Mapping[str, Any], defaults: Defaults) -> dict[str, str]:
    """The values for the `{}` of the kind's paths: project, zone or region, and the scalar properties.

    Raises:
        ScopeError: the path needs a project, zone or region that neither the resource nor the stack says.
    """
    scope = {name: str(value) for name, value in properties.items() if isinstance(value, str | int)}
    wanted = set(re.findall(r"\{(\w+)\}", kind.collection + kind.own_path + kind.id_template))
    for name in ("project", "zone", "region"):
        # A zonal resource's references to regional ones are in the region of its own zone.
        own = scope.get("zone", "").rpartition("-")[0] if name == "region" else ""
        value = last_part(scope.get(name, "")) or own or _default(name, defaults)
        if value:
            scope[name] = value
        elif name in wanted:
            raise ScopeError(_UNSAID[name])
    for name in ("router", "region"):
        if name in scope:
            scope[name] = last_part(scope[name])
    return scope


def _default(name: str, defaults: Defaults) -> str:
    if name == "region" and not defaults.region:
        return defaults.zone.rpartition("-")[0]
    return str(getattr(defaults, name))
