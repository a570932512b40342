"""Checks of Google's side of a stack: credentials, project, APIs, permissions, accelerators on offer, quota."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tpuwright.cloud.client import DEFAULT_ENDPOINTS, ENDPOINT_KEYS, call, pages, service
from tpuwright.cloud.credentials import TOKEN_VARIABLE, access_token
from tpuwright.cloud.errors import CloudError
from tpuwright.cloud.tpu import TpuApi
from tpuwright.doctor.check import Check, Finding, failed, ok, warning
from tpuwright.doctor.permissions import PERMISSIONS, missing_roles
from tpuwright.doctor.pulumi_checks import SETTINGS
from tpuwright.doctor.quota import Limit, limits_of, shortage
from tpuwright.doctor.stack_configuration import read_configuration
from tpuwright.settings.loading import load
from tpuwright.settings.model import Settings

CREDENTIALS = "Google credentials"
PROJECT = "Google project"
APIS = "APIs enabled"
ROLES = "Roles"
OFFER = "TPUs on offer"
QUOTA = "TPU quota"

NEEDED_APIS = (
    "cloudresourcemanager.googleapis.com",
    "compute.googleapis.com",
    "iam.googleapis.com",
    "iap.googleapis.com",
    "serviceusage.googleapis.com",
    "tpu.googleapis.com",
)


class GoogleChecks:
    """The questions about one stack's project, asked at the endpoints of that stack."""

    def __init__(self, stack: str, project_directory: Path) -> None:
        self._stack = stack
        self._directory = project_directory

    def checks(self) -> list[Check]:
        """In the order in which one builds on the other."""
        asked = (CREDENTIALS, PROJECT)
        return [
            Check(CREDENTIALS, "every call shows them", self.credentials, (SETTINGS,)),
            Check(PROJECT, "it owns and pays for everything", self.project, (SETTINGS, CREDENTIALS)),
            Check(APIS, "Google answers only where its API is enabled", self.apis, asked),
            Check(ROLES, "`pulumi up` and ssh need them", self.roles, asked),
            Check(OFFER, "not every zone has every TPU", self.offer, asked),
            Check(QUOTA, "without it every request is refused", self.quota, asked),
        ]

    def credentials(self) -> Finding:
        """A token can be had; whether Google takes it shows in the next question."""
        access_token()
        if os.environ.get(TOKEN_VARIABLE, "").strip():
            return ok(f"an access token, from {TOKEN_VARIABLE}")
        return ok("Application Default Credentials")

    def project(self) -> Finding:
        """The project is there, and Google takes the credentials."""
        name = self._settings().gcp.project
        projects = self._service("cloudresourcemanager").projects()
        found = call(lambda: projects.get(projectId=name), f"project {name}")
        state = str(found.get("lifecycleState", "ACTIVE"))
        if state != "ACTIVE":
            return failed(f"{name} is in state {state}", "name another in gcp:project, or restore it in the console")
        return ok(f"{name} (number {found.get('projectNumber', 'unknown')})")

    def apis(self) -> Finding:
        """Every API that a stack uses is enabled."""
        name = self._settings().gcp.project
        services = self._service("serviceusage").services()
        enabled = {
            str(entry["name"]).rpartition("/")[2]
            for entry in pages(
                lambda: services.list(parent=f"projects/{name}", filter="state:ENABLED", pageSize=200),
                services.list_next,
                "services",
                f"the APIs of project {name}",
            )
        }
        missing = [api for api in NEEDED_APIS if api not in enabled]
        if missing:
            return failed(
                f"not enabled: {', '.join(missing)}", f"gcloud services enable {' '.join(missing)} --project {name}"
            )
        return ok(f"all {len(NEEDED_APIS)} that are needed")

    def roles(self) -> Finding:
        """The caller holds every permission that a stack needs."""
        name = self._settings().gcp.project
        projects = self._service("cloudresourcemanager").projects()
        body = {"permissions": list(PERMISSIONS)}
        answer = call(
            lambda: projects.testIamPermissions(resource=name, body=body), f"your permissions in project {name}"
        )
        held = set(answer.get("permissions", []))
        missing = [permission for permission in PERMISSIONS if permission not in held]
        if missing:
            shown = ", ".join(missing[:4]) + (f" and {len(missing) - 4} more" if len(missing) > 4 else "")
            return failed(
                f"you lack {shown}",
                f"have an owner of {name} grant you {', '.join(missing_roles(missing))}",
            )
        return ok(f"all {len(PERMISSIONS)} permissions that are needed")

    def offer(self) -> Finding:
        """Each pod's type is on offer in its zones now."""
        settings = self._settings()
        api = TpuApi(settings.gcp.project, settings.gcp.tpuV2CustomEndpoint)
        offered = {zone: set(api.accelerator_types(zone)) for pod in settings.pods for zone in pod.zones}
        lacking = [
            f"{pod.accelerator_type} in {zone}"
            for pod in settings.pods
            for zone in pod.zones
            if pod.accelerator_type not in offered[zone]
        ]
        if lacking:
            return failed(
                f"not on offer: {', '.join(lacking)}", "name another zone in tpuwright:pods[].zones, or another type"
            )
        return ok(", ".join(f"{len(types)} types in {zone}" for zone, types in offered.items()))

    def quota(self) -> Finding:
        """The project may have as many chips as each pod asks for, where Google lets us read its limits."""
        settings = self._settings()
        name = settings.gcp.project
        try:
            limits = self._quota_limits(name)
        except CloudError as error:
            return warning(
                f"it cannot be read through Service Usage ({error.kind.replace('_', ' ')})",
                f"see https://console.cloud.google.com/iam-admin/quotas?service=tpu.googleapis.com&project={name}",
            )
        problems = [problem for pod in settings.pods if (problem := shortage(pod, limits))]
        if problems:
            return warning(
                "; ".join(problems), "ask for more at https://console.cloud.google.com/iam-admin/quotas, or take less"
            )
        return ok(f"enough for {', '.join(pod.name for pod in settings.pods)}")

    def _quota_limits(self, name: str) -> list[Limit]:
        endpoint = self._endpoint("serviceusage").replace("/v1/", "/v1beta1/")
        metrics = service("serviceusage", endpoint).services().consumerQuotaMetrics()
        parent = f"projects/{name}/services/tpu.googleapis.com"
        found = pages(
            lambda: metrics.list(parent=parent, view="BASIC", pageSize=200),
            metrics.list_next,
            "metrics",
            f"the TPU quota of project {name}",
        )
        return limits_of(found)

    def _settings(self) -> Settings:
        return load(read_configuration(self._directory, self._stack).config, self._directory)

    def _service(self, name: str) -> Any:
        return service(name, self._endpoint(name))

    def _endpoint(self, name: str) -> str:
        configured = read_configuration(self._directory, self._stack).get(ENDPOINT_KEYS[name])
        return configured or DEFAULT_ENDPOINTS[name]
