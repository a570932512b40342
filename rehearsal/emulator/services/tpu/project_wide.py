"""What belongs to no node: reservations, and the service's own identity."""

from __future__ import annotations

from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.handlers import Call, Json, operation
from rehearsal.emulator.paging import page
from rehearsal.emulator.services.tpu.catalog import split_parent
from rehearsal.emulator.services.tpu.nodes_stored import nodes, zone_of
from tpuwright.accelerators import lookup


@operation(
    "tpu.projects.locations.reservations.list",
    differs="the reservations are a setting of the emulator",
)
async def list_reservations(call: Call, cloud: Cloud) -> Json:
    project, zone = split_parent(cloud, call.path["parent"])
    found = []
    for reservation in cloud.settings.reservations:
        if reservation.zone != zone:
            continue
        used = sum(
            node["internal"]["chips"]
            for node in nodes(cloud)
            if node["internal"]["reserved"]
            and zone_of(node["name"]) == zone
            and lookup(node["internal"]["accelerator"]).generation.name == reservation.generation
        )
        found.append(
            {
                "name": f"projects/{project}/locations/{zone}/reservations/{reservation.name}",
                "state": "ACTIVE",
                "standard": {
                    "resourceType": reservation.generation,
                    "capacityUnits": "CHIPS",
                    "size": reservation.chips,
                    "usage": {"total": str(used)},
                },
            }
        )
    return page(call, "reservations", found)


@operation("tpu.projects.locations.generateServiceIdentity")
async def generate_service_identity(call: Call, cloud: Cloud) -> Json:
    split_parent(cloud, call.path["parent"])
    return {"identity": {"email": f"service-{cloud.project_number}@cloud-tpu.iam.gserviceaccount.com"}}
