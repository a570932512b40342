"""A node as it is asked for, checked by Cloud TPU's rules and completed with what Google fills in."""

from __future__ import annotations

import re

from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.errors import ApiError
from rehearsal.emulator.handlers import Json
from rehearsal.emulator.operations import number_of
from rehearsal.emulator.services import iam_accounts
from rehearsal.emulator.services.compute.references import NETWORKS, SUBNETWORKS, resolve
from rehearsal.emulator.services.tpu.accelerator_choice import accelerator_config, chosen_accelerator
from rehearsal.emulator.services.tpu.catalog import RUNTIME_VERSIONS, region_of
from rehearsal.emulator.services.tpu.refusals import bad_request

NODE_ID = re.compile(r"[A-Za-z0-9_.~+%-]{1,63}")
_LABEL_KEY = re.compile(r"[a-z][\w-]{0,62}")
_LABEL_VALUE = re.compile(r"[\w-]{0,63}")
_TAG = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_METADATA_LIMIT = 256 * 1024
CLOUD_PLATFORM = "https://www.googleapis.com/auth/cloud-platform"
_DEFAULT_SCOPES = [
    "https://www.googleapis.com/auth/devstorage.read_write",
    "https://www.googleapis.com/auth/logging.write",
    "https://www.googleapis.com/auth/service.management",
    "https://www.googleapis.com/auth/servicecontrol",
    CLOUD_PLATFORM,
    "https://www.googleapis.com/auth/pubsub",
]


def new_node(cloud: Cloud, project: str, zone: str, node_id: str, given: Json, version: str) -> Json:
    """The document of a node that is about to be created, in state CREATING.

    What the API does not show is under "internal": {accelerator, chips, workers, subnetwork, spot, reserved,
    reservation, allocated}. Raises ApiError 400 for everything that Cloud TPU refuses.
    """
    check_node_id(node_id)
    accelerator = chosen_accelerator(given, zone)
    _check_runtime(given.get("runtimeVersion"))
    check_mutable_fields(cloud, given, zone, accelerator.hosts)
    networks = _network_configs(cloud, project, zone, given)
    subnetwork = cloud.store.get(networks[0]["subnetwork"]) or {}
    name = f"projects/{project}/locations/{zone}/nodes/{node_id}"
    created = cloud.clock.timestamp()
    node = {
        key: value
        for key, value in given.items()
        if key not in {"acceleratorConfig", "networkConfig", "networkConfigs", "schedulingConfig", "health"}
    }
    scheduling = _scheduling(given)
    node |= {
        "name": name,
        "id": number_of(name + created),
        "createTime": created,
        "state": "CREATING",
        "apiVersion": "V2_ALPHA1" if version == "v2alpha1" else "V2",
        "acceleratorType": accelerator.name,
        "acceleratorConfig": accelerator_config(accelerator),
        "networkConfig": networks[0],
        "schedulingConfig": scheduling,
        "serviceAccount": _service_account(cloud, given),
        "shieldedInstanceConfig": given.get("shieldedInstanceConfig", {}),
        "cidrBlock": subnetwork["ipCidrRange"],
        "internal": {
            "accelerator": accelerator.name,
            "chips": accelerator.chips,
            "workers": accelerator.hosts,
            "subnetwork": networks[0]["subnetwork"],
            "spot": bool(scheduling.get("spot") or scheduling.get("preemptible")),
            "reserved": bool(scheduling.get("reserved") or scheduling.get("reservationName")),
            "reservation": scheduling.get("reservationName"),
            "allocated": False,
        },
    }
    if len(networks) > 1 or "networkConfigs" in given:
        del node["networkConfig"]
        node["networkConfigs"] = networks
    return node


def check_node_id(node_id: str | None) -> None:
    if not node_id or not NODE_ID.fullmatch(node_id):
        raise bad_request(f'node_id "{node_id or ""}" is invalid; it must match ^{NODE_ID.pattern}$')


def check_mutable_fields(cloud: Cloud, given: Json, zone: str, workers: int) -> None:
    """The rules for labels, tags, metadata, description and data disks, at creation and in a patch."""
    for key, value in given.get("labels", {}).items():
        if not _LABEL_KEY.fullmatch(key) or not _LABEL_VALUE.fullmatch(value) or value != value.lower():
            raise bad_request(f'label "{key}={value}" is invalid')
    if len(given.get("labels", {})) > 64:
        raise bad_request("a node can have at most 64 labels")
    for tag in given.get("tags", []):
        if not _TAG.fullmatch(tag):
            raise bad_request(f'tag "{tag}" is invalid; it must match ^{_TAG.pattern}$')
    for key, value in given.get("metadata", {}).items():
        if not re.fullmatch(r"[\w-]{1,128}", key) or len(value.encode()) > _METADATA_LIMIT:
            raise bad_request(f'metadata "{key}" is invalid: keys match [a-zA-Z0-9-_]+, values have up to 256 KB')
    if len(given.get("description", "")) > 512:
        raise bad_request("description is longer than 512 characters")
    for disk in given.get("dataDisks", []):
        _check_disk(cloud, disk, zone, workers)


def _check_disk(cloud: Cloud, disk: Json, zone: str, workers: int) -> None:
    source = disk.get("sourceDisk", "")
    if cloud.store.kind_of(source) != "compute.disk" or f"/zones/{zone}/" not in source:
        raise bad_request(f'the disk "{source}" was not found in zone {zone}')
    if disk.get("mode") != "READ_ONLY" and workers > 1 and len(disk.get("workerIds", [])) != 1:
        raise bad_request(f'the disk "{source}" can be attached in read-write mode to one worker only')


def _check_runtime(version: str | None) -> None:
    if not version:
        raise bad_request("runtime_version must be specified")
    if version not in RUNTIME_VERSIONS:
        raise bad_request(f'runtime version "{version}" was not found')


def _scheduling(given: Json) -> Json:
    # Booleans that are false are not shown, as always in proto3's JSON.
    shown = {key: value for key, value in given.get("schedulingConfig", {}).items() if value not in (False, "")}
    kinds = [key for key in ("preemptible", "spot", "reserved") if shown.get(key)]
    if len(kinds) > 1:
        raise bad_request(f"{' and '.join(kinds)} are mutually exclusive")
    model = shown.get("provisioningModel")
    if model == "SPOT":
        shown["spot"] = True
    if model == "RESERVATION_BOUND" and not shown.get("reservationName"):
        raise bad_request("provisioning model RESERVATION_BOUND needs reservation_name")
    return shown


def _service_account(cloud: Cloud, given: Json) -> Json:
    asked = given.get("serviceAccount", {})
    email = asked.get("email")
    default = f"{cloud.project_number}-compute@developer.gserviceaccount.com"
    if not email or email == default:
        return {"email": default, "scope": asked.get("scope") or _DEFAULT_SCOPES}
    if email.endswith(f"@{cloud.project}.iam.gserviceaccount.com") and not iam_accounts.exists(cloud, email):
        raise bad_request(f'The service account "{email}" does not exist')
    return {"email": email, "scope": asked.get("scope") or [CLOUD_PLATFORM]}


def _network_configs(cloud: Cloud, project: str, zone: str, given: Json) -> list[Json]:
    if given.get("networkConfig") and given.get("networkConfigs"):
        raise bad_request("network_config and network_configs are mutually exclusive; specify one of them")
    asked = given.get("networkConfigs") or [given.get("networkConfig", {})]
    return [_network_config(cloud, project, zone, config) for config in asked]


def _network_config(cloud: Cloud, project: str, zone: str, config: Json) -> Json:
    """Full names of both; raises ApiError when one does not exist or they do not fit each other."""
    region = region_of(zone)
    subnetwork = config.get("subnetwork")
    network = config.get("network")
    if not subnetwork and network:
        # Without a subnetwork the one of the same name as the network is used, as in an auto-mode network.
        subnetwork = resolve(network, NETWORKS, project=project, field="network").rpartition("/")[2]
    subnetwork_name = resolve(subnetwork or "default", SUBNETWORKS, project=project, place=region, field="subnetwork")
    document = cloud.store.get(subnetwork_name)
    if f"/regions/{region}/" not in subnetwork_name:
        raise bad_request(f"The subnetwork '{subnetwork_name}' is not in the region of zone {zone}")
    network_name = resolve(network or "default", NETWORKS, project=project, field="network")
    if (network or not subnetwork) and cloud.store.get(network_name) is None:
        raise _missing(network_name)
    if document is None or cloud.store.kind_of(subnetwork_name) != "compute.subnetwork":
        raise _missing(subnetwork_name)
    if network and document["network"] != network_name:
        raise bad_request(f"The subnetwork '{subnetwork_name}' is not in the network '{network_name}'")
    flags = {key: config[key] for key in ("enableExternalIps", "canIpForward", "queueCount") if config.get(key)}
    return {"network": document["network"], "subnetwork": subnetwork_name, **flags}


def _missing(name: str) -> ApiError:
    return bad_request(f"The resource '{name}' was not found")
