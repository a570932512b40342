"""Projects, regions and zones."""

from __future__ import annotations

from datetime import UTC, datetime

from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.handlers import Call, Json, operation
from rehearsal.emulator.operations import number_of
from rehearsal.emulator.services import iam_accounts
from rehearsal.emulator.services.compute import catalog, refusals, rendering, resources
from rehearsal.emulator.services.compute.instance_rules import checked_metadata
from rehearsal.emulator.services.compute.resources import mutation

_SINCE = rendering.timestamp(datetime(2014, 5, 30, tzinfo=UTC))
_PROJECT_METADATA = "compute.projectMetadata"


def project_metadata(cloud: Cloud) -> list[dict[str, str]]:
    """The project's metadata items, which every instance and TPU VM sees beside its own."""
    return list((cloud.store.get(_metadata_name(cloud)) or {}).get("items", []))


@operation("compute.projects.get", differs="No quotas are shown.")
async def get_project(call: Call, cloud: Cloud) -> Json:
    project = resources.project_of(call, cloud)
    items = project_metadata(cloud)
    return {
        "kind": "compute#project",
        "id": cloud.project_number,
        "creationTimestamp": _SINCE,
        "name": project,
        "commonInstanceMetadata": {
            "kind": "compute#metadata",
            "fingerprint": rendering.fingerprint(items),
            **({"items": items} if items else {}),
        },
        "selfLink": f"{call.base_url}projects/{project}",
        "defaultServiceAccount": iam_accounts.default_account(cloud),
        "xpnProjectStatus": "UNSPECIFIED_XPN_PROJECT_STATUS",
        "defaultNetworkTier": "PREMIUM",
        "vmDnsSetting": "ZONAL_ONLY",
    }


@mutation("compute.projects.setCommonInstanceMetadata")
async def set_common_instance_metadata(call: Call, cloud: Cloud) -> Json:
    project = resources.project_of(call, cloud)
    given = call.body.get("fingerprint")
    if given is not None and not rendering.same_fingerprint(given, rendering.fingerprint(project_metadata(cloud))):
        raise refusals.fingerprint_mismatch()
    items = checked_metadata(call.body.get("items", ()), "items")
    cloud.store.put(_PROJECT_METADATA, _metadata_name(cloud), {"items": items})
    return cloud.operations.begin_compute(
        call,
        f"projects/{project}/global",
        "compute.projects.setCommonInstanceMetadata",
        f"projects/{project}",
        target_id=cloud.project_number,
    )


@operation("compute.regions.get", differs="No quotas are shown.")
async def get_region(call: Call, cloud: Cloud) -> Json:
    project, region = resources.project_of(call, cloud), call.path["region"]
    if region not in catalog.ZONES:
        raise refusals.not_found(f"projects/{project}/regions/{region}")
    return _region(call, project, region)


@operation("compute.regions.list", differs="No quotas are shown.")
async def list_regions(call: Call, cloud: Cloud) -> Json:
    project = resources.project_of(call, cloud)
    items = [_region(call, project, region) for region in catalog.ZONES]
    return rendering.listed(call, items, "regions", f"projects/{project}/regions")


@operation("compute.zones.get")
async def get_zone(call: Call, cloud: Cloud) -> Json:
    project, zone = resources.project_of(call, cloud), call.path["zone"]
    if zone not in catalog.REGION_OF_ZONE:
        raise refusals.not_found(f"projects/{project}/zones/{zone}")
    return _zone(call, project, zone)


@operation("compute.zones.list", checked="gcloud")
async def list_zones(call: Call, cloud: Cloud) -> Json:
    project = resources.project_of(call, cloud)
    items = [_zone(call, project, zone) for zone in catalog.REGION_OF_ZONE]
    return rendering.listed(call, items, "zones", f"projects/{project}/zones")


def _metadata_name(cloud: Cloud) -> str:
    return f"projects/{cloud.project}/commonInstanceMetadata"


def _region(call: Call, project: str, region: str) -> Json:
    root = f"{call.base_url}projects/{project}"
    return {
        "kind": "compute#region",
        "id": number_of(region)[:4],
        "creationTimestamp": _SINCE,
        "name": region,
        "description": region,
        "status": "UP",
        "zones": [f"{root}/zones/{zone}" for zone in catalog.ZONES[region]],
        "selfLink": f"{root}/regions/{region}",
    }


def _zone(call: Call, project: str, zone: str) -> Json:
    root = f"{call.base_url}projects/{project}"
    return {
        "kind": "compute#zone",
        "id": number_of(zone)[:4],
        "creationTimestamp": _SINCE,
        "name": zone,
        "description": zone,
        "status": "UP",
        "region": f"{root}/regions/{catalog.REGION_OF_ZONE[zone]}",
        "selfLink": f"{root}/zones/{zone}",
        "availableCpuPlatforms": ["Intel Broadwell", "Intel Ice Lake"],
    }
