"""nodes.getGuestAttributes: what the guest agents of the workers have published."""

from __future__ import annotations

from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.handlers import Call, Json, operation
from rehearsal.emulator.services.tpu.catalog import split_parent
from rehearsal.emulator.services.tpu.nodes_stored import stored_node, worker_keys
from rehearsal.emulator.services.tpu.refusals import bad_request


@operation(
    "tpu.projects.locations.nodes.getGuestAttributes",
    checked="google-cloud-tpu, the hosts' own guest agent",
    differs="a worker that has published nothing under the path gives an entry without items",
)
async def get_guest_attributes(call: Call, cloud: Cloud) -> Json:
    """One entry for each asked worker, in order; a path is "", "namespace/" or "namespace/key"."""
    split_parent(cloud, call.path["name"])
    node = stored_node(cloud, call.path["name"])
    keys = worker_keys(node)
    path = call.body.get("queryPath", "")
    namespace, _, key = path.strip("/").partition("/")
    shown = []
    for worker in call.body.get("workerIds") or [str(index) for index in range(len(keys))]:
        if not worker.isdigit() or int(worker) >= len(keys):
            raise bad_request(f'worker "{worker}" does not exist on {node["name"]}')
        items = [
            {"namespace": one, "key": name, "value": value}
            for one, name, value in cloud.store.guest_attributes(keys[int(worker)])
            if namespace in ("", one) and key in ("", name)
        ]
        shown.append({"queryPath": path, "queryValue": {"items": items} if items else {}})
    return {"guestAttributes": shown}
