"""Where a resource that was being created would be found: its API address and the id that Pulumi imports it by.

The formats are those of the gcp provider's import documentation, one line a type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_COMPUTE_GLOBAL = "projects/{project}/global/{collection}/{name}"
_COMPUTE_REGION = "projects/{project}/regions/{region}/{collection}/{name}"
_COMPUTE_ZONE = "projects/{project}/zones/{zone}/{collection}/{name}"


@dataclass(frozen=True)
class Identity:
    """`service` is the endpoint that serves `path`; `import_id` is what `pulumi import` takes.

    `part` names an element of a list inside the answer where the resource is a part of another (a router's NAT).
    """

    service: str
    path: str
    import_id: str
    part: tuple[str, str] | None = None


_TEMPLATES: dict[str, tuple[str, str, str]] = {
    "gcp:compute/network:Network": ("compute", _COMPUTE_GLOBAL, "networks"),
    "gcp:compute/firewall:Firewall": ("compute", _COMPUTE_GLOBAL, "firewalls"),
    "gcp:compute/subnetwork:Subnetwork": ("compute", _COMPUTE_REGION, "subnetworks"),
    "gcp:compute/router:Router": ("compute", _COMPUTE_REGION, "routers"),
    "gcp:compute/address:Address": ("compute", _COMPUTE_REGION, "addresses"),
    "gcp:compute/disk:Disk": ("compute", _COMPUTE_ZONE, "disks"),
    "gcp:compute/instance:Instance": ("compute", _COMPUTE_ZONE, "instances"),
    "gcp:tpu/v2Vm:V2Vm": ("tpu", "projects/{project}/locations/{zone}/nodes/{name}", ""),
    "gcp:tpu/v2QueuedResource:V2QueuedResource": (
        "tpu",
        "projects/{project}/locations/{zone}/queuedResources/{name}",
        "",
    ),
}


def identity(resource_type: str, inputs: Mapping[str, Any], defaults: Mapping[str, str]) -> Identity | None:
    """The identity of a resource that was being created, or None for a type that is made again without harm
    (an IAM member, an enabled service) or that is not known here.

    `defaults` holds project, region and zone of the stack, for inputs that leave them to the provider.
    """
    known = {**defaults, **{key: value for key, value in inputs.items() if isinstance(value, str)}}
    known["region"] = known.get("region", "").rsplit("/", 1)[-1]
    try:
        if resource_type == "gcp:serviceaccount/account:Account":
            email = "{accountId}@{project}.iam.gserviceaccount.com".format_map(known)
            path = f"projects/{known['project']}/serviceAccounts/{email}"
            return Identity("iam", path, path)
        if resource_type == "gcp:compute/routerNat:RouterNat":
            router = known["router"].rsplit("/", 1)[-1]
            path = _COMPUTE_REGION.format_map({**known, "collection": "routers", "name": router})
            import_id = f"{known['project']}/{known['region']}/{router}/{known['name']}"
            return Identity("compute", path, import_id, part=("nats", known["name"]))
        service, template, collection = _TEMPLATES[resource_type]
        path = template.format_map({**known, "collection": collection})
    except KeyError:
        return None
    return Identity(service, path, path)
