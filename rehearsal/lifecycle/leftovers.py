"""What is left after `pulumi destroy`, asked of the API and of Docker, not of anybody's memory."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import httpx

from rehearsal.hosts.engine import connect
from rehearsal.hosts.labels import query
from rehearsal.lifecycle.steps import StepFailed

# Everything that a stack of ours can make, by the list call that shows it; '-' and aggregated lists cover all zones.
_LISTS = (
    ("/v2/projects/{project}/locations/-/nodes", "nodes"),
    ("/v2/projects/{project}/locations/-/queuedResources", "queuedResources"),
    ("/compute/v1/projects/{project}/aggregated/instances", "instances"),
    ("/compute/v1/projects/{project}/aggregated/disks", "disks"),
    ("/compute/v1/projects/{project}/aggregated/addresses", "addresses"),
    ("/compute/v1/projects/{project}/aggregated/routers", "routers"),
    ("/compute/v1/projects/{project}/aggregated/subnetworks", "subnetworks"),
    ("/compute/v1/projects/{project}/global/firewalls", "items"),
    ("/compute/v1/projects/{project}/global/networks", "items"),
    ("/v1/projects/{project}/serviceAccounts", "accounts"),
)


def left_in_cloud(endpoint: str, token: str, project: str) -> list[str]:
    """Full names (or self links) of what the API still has in `project`; IAM bindings of its service accounts too.

    Raises StepFailed where a list cannot be had: an answer that was not given is not an empty one.
    """
    found: list[str] = []
    with httpx.Client(base_url=endpoint, headers={"Authorization": f"Bearer {token}"}, timeout=30) as client:
        for path, key in _LISTS:
            found += [_name(item) for item in _items(_get(client, path.format(project=project)), key)]
        policy = client.post(f"/v1/projects/{project}:getIamPolicy", json={})
        if policy.status_code != httpx.codes.OK:
            raise StepFailed(f"The IAM policy of {project} could not be read, so a leak there would go unseen.")
        for binding in policy.json().get("bindings", []):
            found += [
                f"IAM binding {binding['role']} of {member}"
                for member in binding.get("members", [])
                if member.endswith(f"@{project}.iam.gserviceaccount.com")
            ]
    return sorted(found)


def left_in_docker(rehearsal: str) -> list[str]:
    """Containers (running or not) and networks that `rehearsal` has made and that still exist."""
    labels = query(rehearsal)
    with closing(connect()) as engine:
        containers = [f"container {found.name}" for found in engine.containers.list(all=True, filters=labels)]
        return containers + [f"network {found.name}" for found in engine.networks.list(filters=labels)]


def running_containers(rehearsal: str) -> list[str]:
    """Ids of a rehearsal's running containers."""
    with closing(connect()) as engine:
        running = engine.containers.list(filters=query(rehearsal), sparse=True)
        return [str(found.id) for found in running]


def _get(client: httpx.Client, path: str) -> dict[str, Any]:
    answer = client.get(path)
    if answer.status_code != httpx.codes.OK:
        raise StepFailed(f"GET {path} answered {answer.status_code}, so what is left there cannot be told.")
    body: dict[str, Any] = answer.json()
    return body


def _items(body: dict[str, Any], key: str) -> list[dict[str, Any]]:
    scopes = body.get("items")
    if isinstance(scopes, dict):
        return [item for scope in scopes.values() for item in scope.get(key, [])]
    return list(body.get(key, []))


def _name(item: dict[str, Any]) -> str:
    link = str(item.get("selfLink") or item.get("name"))
    return link[link.find("projects/") :] if "projects/" in link else link
