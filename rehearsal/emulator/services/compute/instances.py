"""Instances: made, shown and deleted. What happens to their hosts is in instance_hosts.py."""

from __future__ import annotations

from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.errors import ApiError
from rehearsal.emulator.handlers import Call, Json, operation
from rehearsal.emulator.services.compute import (
    instance_hosts,
    instance_parts,
    instance_rules,
    rendering,
    resources,
)
from rehearsal.emulator.services.compute.naming import check_name
from rehearsal.emulator.services.compute.references import DISKS, INSTANCES
from rehearsal.emulator.services.compute.resources import mutation

_DIFFERS = "A container runs in place of the machine: no accelerators, one interface, IPv4, disks as records."


@mutation("compute.instances.insert", checked="recorded pulumi-gcp, google-cloud-compute, gcloud", differs=_DIFFERS)
async def insert_instance(call: Call, cloud: Cloud) -> Json:
    for parameter in ("sourceInstanceTemplate", "sourceMachineImage"):
        if call.query.get(parameter):
            raise ApiError(501, f"Instances from a {parameter} are not emulated.")
    name = resources.full_name(call, cloud, INSTANCES, check_name(call.body.get("name")))
    zone = call.path["zone"]
    instance = instance_rules.complete(call.body, cloud.project, zone)
    resources.check_free(cloud, name)
    wanted = instance["networkInterfaces"][0]
    interface = instance_parts.resolved_interface(wanted, cloud, zone)
    instance["serviceAccounts"] = instance_parts.resolved_service_accounts(instance, cloud)
    instance["disks"], fresh = instance_parts.attach_disks(instance, cloud, zone)
    instance |= {
        "networkInterfaces": [interface],
        "zone": f"projects/{cloud.project}/zones/{zone}",
        "status": "PROVISIONING",
        "cpuPlatform": "Intel Broadwell",
        "startRestricted": False,
    }
    try:
        with cloud.store.transaction():
            instance_parts.take_addresses(wanted, interface, cloud, name)
            for disk, record in fresh.items():
                resources.add(cloud, DISKS, disk, record)
            document = resources.add(
                cloud, INSTANCES, name, {key: value for key, value in instance.items() if value != []}
            )
    except ApiError as refused:
        if not refused.reason.isupper():
            raise
        # Google finds out about addresses while the operation runs, and says so there.
        args = {"message": refused.message, "reason": refused.reason}
        return resources.begin(call, cloud, name, "insert", {}, work=instance_hosts.FAIL, args=args)
    return resources.begin(call, cloud, name, "insert", document, work=instance_hosts.CREATE)


@operation("compute.instances.get", checked="recorded pulumi-gcp, google-cloud-compute, gcloud")
async def get_instance(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, INSTANCES, call.path["instance"])
    return rendering.rendered(call, name, document, INSTANCES)


@operation("compute.instances.list", checked="google-cloud-compute")
async def list_instances(call: Call, cloud: Cloud) -> Json:
    return resources.listing(call, cloud, INSTANCES)


@operation("compute.instances.aggregatedList", checked="google-cloud-compute, gcloud")
async def aggregate_instances(call: Call, cloud: Cloud) -> Json:
    return resources.aggregate(call, cloud, INSTANCES)


@mutation("compute.instances.delete", checked="recorded pulumi-gcp, google-cloud-compute, gcloud")
async def delete_instance(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, INSTANCES, call.path["instance"])
    if document["deletionProtection"]:
        raise ApiError(
            412,
            "Invalid resource usage: 'Resource cannot be deleted if it's protected against deletion.'.",
            reason="conditionNotMet",
        )
    cloud.store.update(name, status="STOPPING")
    return resources.begin(call, cloud, name, "delete", document, work=instance_hosts.DELETE)


@mutation("compute.instances.start", checked="google-cloud-compute, gcloud")
async def start_instance(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, INSTANCES, call.path["instance"])
    if document["status"] == "RUNNING":
        return resources.begin(call, cloud, name, "start", document)
    instance_hosts.check_settled(name, document)
    cloud.store.update(name, status="STAGING")
    return resources.begin(call, cloud, name, "start", document, work=instance_hosts.START)


@mutation("compute.instances.stop", checked="google-cloud-compute, gcloud")
async def stop_instance(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, INSTANCES, call.path["instance"])
    if document["status"] == "TERMINATED":
        return resources.begin(call, cloud, name, "stop", document)
    instance_hosts.check_settled(name, document)
    cloud.store.update(name, status="STOPPING")
    return resources.begin(call, cloud, name, "stop", document, work=instance_hosts.STOP)


@mutation("compute.instances.reset")
async def reset_instance(call: Call, cloud: Cloud) -> Json:
    name, document = resources.find(call, cloud, INSTANCES, call.path["instance"])
    if document["status"] != "RUNNING":
        raise ApiError(400, f"The resource '{name}' is not running: it is {document['status']}.", reason="invalid")
    return resources.begin(call, cloud, name, "reset", document, work=instance_hosts.RESET)
