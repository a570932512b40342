"""What an instance reads from its metadata server, live: https://cloud.google.com/compute/docs/metadata/predefined-metadata-keys."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network

from rehearsal.emulator.background import metadata_view
from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.handlers import Json
from rehearsal.emulator.services.compute import places, resources
from rehearsal.emulator.services.compute.references import INSTANCES, SUBNETWORKS, last_part


@metadata_view
def instance_metadata(cloud: Cloud, ip: str) -> Json | None:
    """The tree of the instance with this internal address, None when it is no instance's."""
    name = cloud.store.holder_of(ip)
    document = cloud.store.get(name) if name is not None else None
    if name is None or document is None or cloud.store.kind_of(name) != resources.kind(INSTANCES):
        return None
    return {"instance": _instance(cloud, name, document), "project": project_tree(cloud)}


def project_tree(cloud: Cloud) -> Json:
    """The `project` branch, the same for every machine of the project."""
    return {
        "project-id": cloud.project,
        "numeric-project-id": int(cloud.project_number),
        "attributes": {item["key"]: item["value"] for item in places.project_metadata(cloud)},
    }


def service_accounts_tree(cloud: Cloud, email: str, scopes: list[str]) -> Json:
    """The `service-accounts` branch of a machine that runs as one account."""
    account: Json = {
        "email": email,
        "aliases": ["default"],
        "scopes": scopes,
        "token": {
            "access_token": cloud.tokens.for_service_account(email),
            "expires_in": 3599,
            "token_type": "Bearer",
        },
    }
    return {"default": account, email: account}


def _instance(cloud: Cloud, name: str, document: Json) -> Json:
    project, zone = cloud.project_number, last_part(document["zone"])
    scheduling = document["scheduling"]
    tree: Json = {
        "id": int(document["id"]),
        "name": document["name"],
        "description": document["description"],
        "hostname": f"{document['name']}.{zone}.c.{cloud.project}.internal",
        "zone": f"projects/{project}/zones/{zone}",
        "machine-type": f"projects/{project}/machineTypes/{last_part(document['machineType'])}",
        "cpu-platform": document["cpuPlatform"],
        "tags": document["tags"].get("items", []),
        "attributes": {item["key"]: item["value"] for item in document["metadata"].get("items", ())},
        "maintenance-event": "NONE",
        "preempted": "FALSE",
        "scheduling": {
            "automatic-restart": str(scheduling["automaticRestart"]).upper(),
            "on-host-maintenance": scheduling["onHostMaintenance"],
            "preemptible": str(scheduling["preemptible"]).upper(),
        },
        "disks": [
            {
                "device-name": disk["deviceName"],
                "index": disk["index"],
                "interface": disk["interface"],
                "mode": disk["mode"],
                "type": "PERSISTENT",
            }
            for disk in document["disks"]
        ],
        "network-interfaces": [_interface(cloud, document["networkInterfaces"][0])],
        "service-accounts": {},
        "guest-attributes": _guest_attributes(cloud, name),
    }
    for account in document.get("serviceAccounts", ()):
        tree["service-accounts"] = service_accounts_tree(cloud, account["email"], account["scopes"])
    return tree


def _interface(cloud: Cloud, interface: Json) -> Json:
    subnetwork = resources.existing(cloud, SUBNETWORKS, interface["subnetwork"])
    network = IPv4Network(subnetwork["ipCidrRange"])
    access = [{"external-ip": config["natIP"], "type": config["type"]} for config in interface.get("accessConfigs", ())]
    return {
        "access-configs": access,
        "dns-servers": ["169.254.169.254"],
        "gateway": subnetwork["gatewayAddress"],
        "ip": interface["networkIP"],
        "mac": "42:01:" + ":".join(f"{byte:02x}" for byte in IPv4Address(interface["networkIP"]).packed),
        "mtu": 1460,
        "network": f"projects/{cloud.project_number}/networks/{last_part(interface['network'])}",
        "subnetmask": str(network.netmask),
    }


def _guest_attributes(cloud: Cloud, name: str) -> Json:
    tree: Json = {}
    for namespace, key, value in cloud.store.guest_attributes(name):
        tree.setdefault(namespace, {})[key] = value
    return tree
