"""Service Usage v1: which APIs are enabled. An API that is not enabled refuses every request."""

from __future__ import annotations

import uuid

from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.errors import ApiError, failed_precondition, not_found
from rehearsal.emulator.handlers import Call, Json, before_handling, operation
from rehearsal.emulator.paging import page

_KIND = "serviceusage.states"
_OPERATION = "serviceusage.operation"
_DOMAIN = ".googleapis.com"
_MOST_AT_ONCE = 20
_TYPES = "type.googleapis.com/google.api.serviceusage.v1"

TITLES = {
    "compute": "Compute Engine API",
    "tpu": "Cloud TPU API",
    "iam": "Identity and Access Management (IAM) API",
    "cloudresourcemanager": "Cloud Resource Manager API",
    "serviceusage": "Service Usage API",
    "file": "Cloud Filestore API",
    "iamcredentials": "IAM Service Account Credentials API",
    "iap": "Cloud Identity-Aware Proxy API",
    "logging": "Cloud Logging API",
    "monitoring": "Cloud Monitoring API",
    "oslogin": "Cloud OS Login API",
    "servicenetworking": "Service Networking API",
    "storage": "Cloud Storage API",
    "storage-component": "Cloud Storage",
}
ENABLED_AT_FIRST = frozenset({"compute", "tpu", "iam", "iap", "cloudresourcemanager", "serviceusage", "oslogin"})
NEEDS = {"tpu": ("compute",), "compute": ("oslogin",)}
"""Services that are enabled along with another, and cannot be disabled while it is enabled."""


@operation(
    "serviceusage.services.list",
    checked="recorded pulumi-gcp, gcloud",
    differs="A choice of services; only `state:` can be filtered.",
)
async def list_services(call: Call, cloud: Cloud) -> Json:
    _check_parent(call.path["parent"], cloud)
    wanted = call.query.get("filter", "")
    if wanted not in ("", "state:ENABLED", "state:DISABLED"):
        raise _invalid(f"Invalid filter '{wanted}': only state:ENABLED and state:DISABLED are supported.")
    state = wanted.removeprefix("state:")
    found = [_shown(cloud, service) for service in sorted(TITLES)]
    return page(call, "services", [service for service in found if state in ("", service["state"])])


@operation("serviceusage.services.get", checked="google-api-python-client")
async def get_service(call: Call, cloud: Cloud) -> Json:
    return _shown(cloud, _service(call.path["name"], cloud))


@operation("serviceusage.services.batchGet")
async def get_services(call: Call, cloud: Cloud) -> Json:
    _check_parent(call.path["parent"], cloud)
    return {"services": [_shown(cloud, _service(name, cloud)) for name in call.query.get("names", ())]}


@operation(
    "serviceusage.services.enable",
    checked="recorded pulumi-gcp, gcloud, google-api-python-client",
    differs="Done at once; on Google it takes up to a minute.",
)
async def enable_service(call: Call, cloud: Cloud) -> Json:
    service = _service(call.path["name"], cloud)
    news = _enable(cloud, [service])
    response = {"@type": f"{_TYPES}.EnableServiceResponse", "service": _shown(cloud, service)}
    return _done(cloud, response, news=news)


@operation("serviceusage.services.batchEnable", differs="Done at once; on Google it takes up to a minute.")
async def enable_services(call: Call, cloud: Cloud) -> Json:
    parent = call.path["parent"]
    _check_parent(parent, cloud)
    asked = call.body.get("serviceIds", [])
    if len(asked) > _MOST_AT_ONCE:
        raise _invalid(f"A single request can enable a maximum of {_MOST_AT_ONCE} services at a time.")
    services = [_service(f"{parent}/services/{name}", cloud) for name in asked]
    news = _enable(cloud, services)
    response = {
        "@type": f"{_TYPES}.BatchEnableServicesResponse",
        "services": [_shown(cloud, service) for service in services],
    }
    return _done(cloud, response, news=news)


@operation(
    "serviceusage.services.disable", checked="gcloud", differs="Done at once. Whether a service was used is not known."
)
async def disable_service(call: Call, cloud: Cloud) -> Json:
    service = _service(call.path["name"], cloud)
    enabled = set(enabled_services(cloud))
    dependents = _dependents(service) & enabled
    if dependents and not call.body.get("disableDependentServices"):
        names = ",".join(sorted(f"{name}{_DOMAIN}" for name in dependents))
        raise failed_precondition(
            f"The service {service}{_DOMAIN} is depended on by the following active service(s): {names}; Please "
            "specify disable_dependent_services=true if you want to proceed with disabling all services."
        )
    _store(cloud, enabled - dependents - {service})
    response = {"@type": f"{_TYPES}.DisableServiceResponse", "service": _shown(cloud, service)}
    return _done(cloud, response, news=service in enabled)


@operation("serviceusage.operations.get")
async def get_operation(call: Call, cloud: Cloud) -> Json:
    found = cloud.store.get(call.path["name"])
    if found is None or cloud.store.kind_of(call.path["name"]) != _OPERATION:
        raise not_found(f"Operation {call.path['name']} not found")
    return found


def enabled_services(cloud: Cloud) -> list[str]:
    """The enabled services' short names: compute, tpu, ..."""
    stored = cloud.store.get(_name(cloud))
    return sorted(stored["enabled"] if stored else ENABLED_AT_FIRST)


@before_handling
def check_enabled(cloud: Cloud, service: str) -> None:
    """ApiError 403 SERVICE_DISABLED for a request to an API that is not enabled in the project."""
    if service not in TITLES or service == "serviceusage" or service in enabled_services(cloud):
        return
    number, title, host = cloud.project_number, TITLES[service], f"{service}{_DOMAIN}"
    link = f"https://console.developers.google.com/apis/api/{host}/overview?project={number}"
    message = (
        f"{title} has not been used in project {number} before or it is disabled. Enable it by visiting {link} then "
        "retry. If you enabled this API recently, wait a few minutes for the action to propagate to our systems and "
        "retry."
    )
    raise ApiError(
        403,
        message,
        reason="accessNotConfigured",
        details=[
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "SERVICE_DISABLED",
                "domain": "googleapis.com",
                "metadata": {
                    "service": host,
                    "serviceTitle": title,
                    "consumer": f"projects/{number}",
                    "containerInfo": number,
                    "activationUrl": link,
                },
            },
            {
                "@type": "type.googleapis.com/google.rpc.Help",
                "links": [{"description": "Google developers console API activation", "url": link}],
            },
        ],
    )


def _enable(cloud: Cloud, services: list[str]) -> bool:
    """Enable services and what they need; whether that changed anything."""
    before = set(enabled_services(cloud))
    wanted, rest = set(before), list(services)
    while rest:
        service = rest.pop()
        rest += [need for need in NEEDS.get(service, ()) if need not in wanted]
        wanted.add(service)
    _store(cloud, wanted)
    return wanted != before


def _dependents(service: str) -> set[str]:
    """All services that cannot be without this one."""
    direct = {name for name, needs in NEEDS.items() if service in needs}
    return direct.union(*(_dependents(name) for name in direct)) if direct else direct


def _store(cloud: Cloud, enabled: set[str]) -> None:
    cloud.store.put(_KIND, _name(cloud), {"enabled": sorted(enabled)})


def _name(cloud: Cloud) -> str:
    return f"projects/{cloud.project}/services"


def _done(cloud: Cloud, response: Json, *, news: bool) -> Json:
    name = f"operations/acf.p2-{cloud.project_number}-{uuid.uuid4()}" if news else "operations/noop.DONE_OPERATION"
    body = {"name": name, "done": True, "response": response}
    cloud.store.put(_OPERATION, name, body)
    return body


def _shown(cloud: Cloud, service: str) -> Json:
    host, parent = f"{service}{_DOMAIN}", f"projects/{cloud.project_number}"
    return {
        "name": f"{parent}/services/{host}",
        "config": {"name": host, "title": TITLES[service], "quota": {}, "authentication": {}, "usage": {}},
        "state": "ENABLED" if service in enabled_services(cloud) else "DISABLED",
        "parent": parent,
    }


def _service(path: str, cloud: Cloud) -> str:
    parent, _, host = path.partition("/services/")
    _check_parent(parent, cloud)
    service = host.removesuffix(_DOMAIN)
    if not host.endswith(_DOMAIN) or service not in TITLES:
        raise ApiError(
            403,
            f"Not found or permission denied for service(s): {host}.",
            details=[
                {
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                    "reason": "SERVICE_CONFIG_NOT_FOUND_OR_PERMISSION_DENIED",
                    "domain": "serviceusage.googleapis.com",
                    "metadata": {"services": host},
                }
            ],
        )
    return service


def _check_parent(parent: str, cloud: Cloud) -> None:
    project = parent.removeprefix("projects/")
    if project not in (cloud.project, cloud.project_number):
        raise ApiError(403, f"Project '{project}' not found or permission denied.")


def _invalid(message: str) -> ApiError:
    return ApiError(400, message, status="INVALID_ARGUMENT", reason="badRequest")
