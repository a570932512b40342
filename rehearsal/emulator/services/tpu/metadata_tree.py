"""The metadata tree of a TPU worker, as the guest agent and JAX read it."""

from __future__ import annotations

from rehearsal.emulator.background import metadata_view
from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.handlers import Json
from rehearsal.emulator.services.tpu.catalog import CONFIG_TYPES
from rehearsal.emulator.services.tpu.nodes_stored import worker_keys, zone_of
from rehearsal.emulator.services.tpu.workers import hostname, network_configs
from tpuwright.accelerators import Accelerator, lookup

TOKEN_SECONDS = 3600
_RESERVED = ("agent-worker-number", "worker-network-endpoints", "tpu-env", "accelerator-type")


@metadata_view
def tpu_worker_tree(cloud: Cloud, ip: str) -> Json | None:
    """{"instance": ..., "project": ...} of the TPU worker with that address, or None."""
    holder = cloud.store.holder_of(ip)
    name, separator, worker = (holder or "").rpartition("/workers/")
    node = cloud.store.get(name) if separator else None
    if node is None or holder is None:
        return None
    index = int(worker)
    zone = zone_of(name)
    account = node["serviceAccount"]
    config = network_configs(node)[0]
    number = cloud.project_number
    return {
        "instance": {
            "id": int(node["id"]) + index,
            "name": hostname(node, index),
            "hostname": f"{hostname(node, index)}.{zone}.c.{cloud.project}.internal",
            "zone": f"projects/{number}/zones/{zone}",
            "description": node.get("description", ""),
            "tags": node.get("tags", []),
            "attributes": {**_own(node), **_attributes(cloud, node, index)},
            "network-interfaces": [
                {
                    "ip": ip,
                    "network": f"projects/{number}/networks/{config['network'].rpartition('/')[2]}",
                    "access-configs": _access(node, index),
                }
            ],
            "scheduling": {"preemptible": "TRUE" if node["internal"]["spot"] else "FALSE"},
            "maintenance-event": "TERMINATE_ON_HOST_MAINTENANCE" if _maintained(node) else "NONE",
            "preempted": "TRUE" if node["internal"].get("preempted") else "FALSE",
            "service-accounts": {alias: _account(cloud, account) for alias in ("default", account["email"])},
            "guest-attributes": _guest_attributes(cloud, holder),
        },
        "project": {
            "project-id": cloud.project,
            "numeric-project-id": int(number),
            "attributes": {},
        },
    }


def _own(node: Json) -> Json:
    """The user's metadata, without what Cloud TPU sets itself."""
    return {key: value for key, value in node.get("metadata", {}).items() if key not in _RESERVED}


def _attributes(cloud: Cloud, node: Json, worker: int) -> Json:
    accelerator = lookup(node["internal"]["accelerator"])
    addresses = [cloud.addresses.of(key) or "" for key in worker_keys(node)]
    return {
        "agent-worker-number": str(worker),
        "accelerator-type": accelerator.name,
        "worker-network-endpoints": ",".join(f"unknown:unknown:{address}" for address in addresses),
        "tpu-env": _tpu_env(cloud, node, worker, accelerator),
    }


def _tpu_env(cloud: Cloud, node: Json, worker: int, accelerator: Accelerator) -> str:
    chips, hosts = _bounds(accelerator)
    lines = {
        "ACCELERATOR_TYPE": accelerator.name,
        "ALT": "false",
        "CHIPS_PER_HOST_BOUNDS": chips,
        "CONSUMER_PROJECT_ID": cloud.project,
        "CONSUMER_PROJECT_NUMBER": cloud.project_number,
        "HOST_BOUNDS": hosts,
        "NODE_ID": node["name"].rpartition("/")[2],
        "RUNTIME_VERSION": node["runtimeVersion"],
        "TOPOLOGY": accelerator.topology,
        "TPU_CHIPS_PER_PROCESS_BOUNDS": chips,
        "TPU_PROCESS_BOUNDS": hosts,
        "TYPE": CONFIG_TYPES[accelerator.generation.name],
        "WORKER_ID": str(worker),
        "WRAP": "false,false,false",
        "ZONE": zone_of(node["name"]),
        **_megascale(cloud, node),
    }
    return "".join(f"{key}: '{value}'\n" for key, value in lines.items())


def _bounds(accelerator: Accelerator) -> tuple[str, str]:
    """CHIPS_PER_HOST_BOUNDS and HOST_BOUNDS, three numbers each: a host holds a 2x2, or a whole small slice."""
    shape = [int(side) for side in accelerator.topology.split("x")]
    shape += [1] * (3 - len(shape))
    if accelerator.hosts == 1:
        return ",".join(map(str, shape)), "1,1,1"
    on_host = [2, 2, 1]
    bounds = [side // own for side, own in zip(shape, on_host, strict=True)]
    return ",".join(map(str, on_host)), ",".join(map(str, bounds))


def _megascale(cloud: Cloud, node: Json) -> dict[str, str]:
    slices = node["internal"].get("slices")
    if not slices:
        return {}
    return {
        "MEGASCALE_COORDINATOR_ADDRESS": cloud.addresses.of(f"{slices[0]}/workers/0") or "",
        "MEGASCALE_NUM_SLICES": str(len(slices)),
        "MEGASCALE_PORT": "8080",
        "MEGASCALE_SLICE_ID": str(slices.index(node["name"])),
    }


def _account(cloud: Cloud, account: Json) -> Json:
    token = {
        "access_token": cloud.tokens.for_service_account(account["email"]),
        "expires_in": TOKEN_SECONDS,
        "token_type": "Bearer",
    }
    return {
        "email": account["email"],
        "aliases": ["default"],
        "scopes": account["scope"],
        "token": token,
    }


def _access(node: Json, worker: int) -> list[Json]:
    shown = node.get("networkEndpoints", [])
    external = shown[worker].get("accessConfig", {}).get("externalIp") if worker < len(shown) else None
    return [{"external-ip": external, "type": "ONE_TO_ONE_NAT"}] if external else []


def _maintained(node: Json) -> bool:
    return "upcomingMaintenance" in node


def _guest_attributes(cloud: Cloud, host: str) -> Json:
    tree: Json = {}
    for namespace, key, value in cloud.store.guest_attributes(host):
        tree.setdefault(namespace, {})[key] = value
    return tree
