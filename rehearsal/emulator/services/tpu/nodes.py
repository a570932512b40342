"""nodes.create, get, list, patch, delete, start, stop."""

from __future__ import annotations

from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.handlers import Call, Json, operation
from rehearsal.emulator.messages import snake_case
from rehearsal.emulator.paging import page
from rehearsal.emulator.services.tpu.capacity import check_quota
from rehearsal.emulator.services.tpu.catalog import split_parent, zones
from rehearsal.emulator.services.tpu.idempotence import answered_before, remember
from rehearsal.emulator.services.tpu.node_request import check_mutable_fields, new_node
from rehearsal.emulator.services.tpu.nodes_stored import KIND, nodes, shown_node, stored_node, zone_of
from rehearsal.emulator.services.tpu.refusals import already_exists, bad_request, wrong_state

MUTABLE = {"labels", "metadata", "tags", "description", "dataDisks", "networkConfig.enableExternalIps"}


@operation(
    "tpu.projects.locations.nodes.create",
    checked="google-cloud-tpu, google-api-python-client, gcloud, recorded pulumi-gcp",
    differs='no public source quotes every refusal: the words after "Cloud TPU received a bad request." may be ours; '
    "data disks are checked and not attached",
)
async def create_node(call: Call, cloud: Cloud) -> Json:
    parent = call.path["parent"]
    _, zone = split_parent(cloud, parent)
    earlier = answered_before(call, cloud, parent)
    if earlier is not None:
        return earlier
    node = new_node(cloud, cloud.project, zone, call.query.get("nodeId", ""), call.body, call.version)
    if cloud.store.get(node["name"]) is not None:
        raise already_exists(node["name"])
    check_quota(cloud, zone, [node])
    cloud.store.insert(KIND, node["name"], node)
    return remember(call, cloud, parent, _begin(call, cloud, node["name"], "create"))


@operation(
    "tpu.projects.locations.nodes.get",
    checked="google-cloud-tpu, google-api-python-client, gcloud, recorded pulumi-gcp",
)
async def get_node(call: Call, cloud: Cloud) -> Json:
    split_parent(cloud, call.path["name"])
    return shown_node(stored_node(cloud, _full(call, cloud)), call.version)


@operation("tpu.projects.locations.nodes.list", checked="google-cloud-tpu, google-api-python-client, gcloud")
async def list_nodes(call: Call, cloud: Cloud) -> Json:
    _, zone = split_parent(cloud, call.path["parent"])
    # A zone "-" stands for all of them.
    wanted = zones() if zone == "-" else [zone]
    found = [node for node in nodes(cloud) if zone_of(node["name"]) in wanted]
    return page(call, "nodes", [shown_node(node, call.version) for node in found])


@operation("tpu.projects.locations.nodes.patch", checked="google-cloud-tpu, gcloud, recorded pulumi-gcp")
async def patch_node(call: Call, cloud: Cloud) -> Json:
    split_parent(cloud, call.path["name"])
    node = stored_node(cloud, _full(call, cloud))
    paths = [path for path in call.query.get("updateMask", "").split(",") if path]
    if not paths:
        raise bad_request("update_mask must be specified")
    for path in paths:
        if path not in MUTABLE:
            raise bad_request(
                f'update_mask "{snake_case(path)}" is not supported; the fields that can be updated are '
                f"{', '.join(sorted(snake_case(field) for field in MUTABLE))}"
            )
    given = {key: value for key, value in call.body.items() if key in paths}
    check_mutable_fields(cloud, given, zone_of(node["name"]), node["internal"]["workers"])
    if node["state"] not in {"READY", "STOPPED"}:
        raise wrong_state("update", node["state"])
    fields: Json = {path: call.body.get(path) for path in paths if "." not in path}
    if "networkConfig.enableExternalIps" in paths:
        wanted = call.body.get("networkConfig", {}).get("enableExternalIps", False)
        fields["networkConfig"] = {**node.get("networkConfig", {}), "enableExternalIps": wanted}
    return _begin(call, cloud, node["name"], "update", fields=fields)


@operation(
    "tpu.projects.locations.nodes.delete",
    checked="google-cloud-tpu, google-api-python-client, gcloud, recorded pulumi-gcp",
    differs="deletes in any state; a second delete returns the operation of the first while that runs; "
    "what Google does is not known",
)
async def delete_node(call: Call, cloud: Cloud) -> Json:
    split_parent(cloud, call.path["name"])
    node = stored_node(cloud, _full(call, cloud))
    if node["state"] == "DELETING":
        for running in cloud.operations.running_on(node["name"]):
            stored = cloud.store.get(running)
            if stored is not None and stored.get("verb") == "delete":
                return cloud.operations.render(running, stored, call.base_url)
    cloud.store.update(node["name"], state="DELETING")
    return _begin(call, cloud, node["name"], "delete", response_type=None)


@operation(
    "tpu.projects.locations.nodes.stop",
    checked="google-cloud-tpu",
    differs="that slices of several hosts cannot be stopped is from Google's guide; the wording is ours",
)
async def stop_node(call: Call, cloud: Cloud) -> Json:
    split_parent(cloud, call.path["name"])
    node = stored_node(cloud, _full(call, cloud))
    if node["internal"]["workers"] > 1:
        raise bad_request("stop is not supported for a TPU slice of more than one host; delete it instead")
    if node["state"] != "READY":
        raise wrong_state("stop", node["state"])
    cloud.store.update(node["name"], state="STOPPING")
    return _begin(call, cloud, node["name"], "stop")


@operation("tpu.projects.locations.nodes.start", checked="google-cloud-tpu")
async def start_node(call: Call, cloud: Cloud) -> Json:
    split_parent(cloud, call.path["name"])
    node = stored_node(cloud, _full(call, cloud))
    if node["internal"]["spot"]:
        raise bad_request("start is not supported for a preemptible or spot node; delete and recreate it")
    if node["state"] != "STOPPED":
        raise wrong_state("start", node["state"])
    cloud.store.update(node["name"], state="STARTING")
    return _begin(call, cloud, node["name"], "start")


def _full(call: Call, cloud: Cloud) -> str:
    """The node's name by project id, also when the request has the project's number."""
    parts = call.path["name"].split("/")
    return "/".join([parts[0], cloud.project, *parts[2:]])


def _begin(call: Call, cloud: Cloud, name: str, verb: str, response_type: str | None = "Node", **args: object) -> Json:
    parent = name.partition("/nodes/")[0]
    work = f"tpu.node.{verb}"
    arguments = {"version": call.version, **args}
    return cloud.operations.begin_tpu(call, parent, verb, name, work, arguments, response_type)
