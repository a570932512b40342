"""Resource Manager v1 and v3: the one project, and its IAM policy."""

from __future__ import annotations

from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.errors import ApiError
from rehearsal.emulator.handlers import Call, Json, operation
from rehearsal.emulator.paging import page
from rehearsal.emulator.services import iam_policies_stored

_SINCE = "2026-01-01T00:00:00.000000Z"
_ROLES = "The names of predefined roles are not checked, and the last owner can be removed."


@operation("cloudresourcemanager.projects.get", checked="recorded pulumi-gcp, google-cloud-resource-manager")
async def get_project(call: Call, cloud: Cloud) -> Json:
    project = call.path.get("projectId") or call.path["name"].removeprefix("projects/")
    _check(project, cloud)
    return _shown(call, cloud)


@operation("cloudresourcemanager.projects.list", differs="There is one project, and filters do not matter.")
async def list_projects(call: Call, cloud: Cloud) -> Json:
    return page(call, "projects", [_shown(call, cloud)])


@operation("cloudresourcemanager.projects.search", differs="There is one project, and queries do not matter.")
async def search_projects(call: Call, cloud: Cloud) -> Json:
    return page(call, "projects", [_shown(call, cloud)])


@operation(
    "cloudresourcemanager.projects.getIamPolicy",
    checked="recorded pulumi-gcp, gcloud, google-api-python-client, google-cloud-resource-manager",
    differs="A new project has no owner binding.",
)
async def get_project_policy(call: Call, cloud: Cloud) -> Json:
    return iam_policies_stored.read(cloud, _resource(call, cloud))


@operation(
    "cloudresourcemanager.projects.setIamPolicy",
    checked="recorded pulumi-gcp, gcloud, google-api-python-client, google-cloud-resource-manager",
    differs=_ROLES,
)
async def set_project_policy(call: Call, cloud: Cloud) -> Json:
    return iam_policies_stored.write(cloud, _resource(call, cloud), call.body)


@operation("cloudresourcemanager.projects.testIamPermissions", differs="Every caller is an owner.")
async def test_project_permissions(call: Call, cloud: Cloud) -> Json:
    _resource(call, cloud)
    return iam_policies_stored.permissions(call.body)


def _resource(call: Call, cloud: Cloud) -> str:
    _check(call.path["resource"].removeprefix("projects/"), cloud)
    return f"projects/{cloud.project}"


def _check(project: str, cloud: Cloud) -> None:
    if project not in (cloud.project, cloud.project_number):
        # Google does not tell a project that is not there from one that is not yours.
        raise ApiError(403, "The caller does not have permission")


def _shown(call: Call, cloud: Cloud) -> Json:
    if call.version == "v1":
        return {
            "projectNumber": cloud.project_number,
            "projectId": cloud.project,
            "lifecycleState": "ACTIVE",
            "name": cloud.project,
            "createTime": _SINCE,
        }
    return {
        "name": f"projects/{cloud.project_number}",
        "projectId": cloud.project,
        "state": "ACTIVE",
        "displayName": cloud.project,
        "createTime": _SINCE,
        "updateTime": _SINCE,
        "etag": 'W/"rehearsal"',
    }
