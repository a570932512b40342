"""A queued resource as it is asked for, checked and completed."""

from __future__ import annotations

from datetime import datetime, timedelta

from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.handlers import Json
from rehearsal.emulator.services.tpu.node_request import NODE_ID, new_node
from rehearsal.emulator.services.tpu.nodes_stored import zone_of
from rehearsal.emulator.services.tpu.refusals import already_exists, bad_request

_TIERS = ("spot", "guaranteed", "bestEffort")
_LONGEST_FLEX_START = 7 * 86400


def new_queued(cloud: Cloud, zone: str, queued_id: str, given: Json, version: str) -> Json:
    """The document, in state CREATING; "internal" holds the nodes that it will make.

    Raises ApiError for everything that Cloud TPU refuses.
    """
    if not NODE_ID.fullmatch(queued_id or ""):
        raise bad_request(f'queued_resource_id "{queued_id}" is invalid; it must match ^{NODE_ID.pattern}$')
    name = f"projects/{cloud.project}/locations/{zone}/queuedResources/{queued_id}"
    _check_tier(given)
    specs = given.get("tpu", {}).get("nodeSpec", [])
    if not specs:
        raise bad_request("tpu.node_spec must have at least one entry")
    nodes: list[Json] = []
    for spec in specs:
        nodes += _planned(cloud, zone, queued_id, spec, given, version)
    names = [node["name"] for node in nodes]
    if len(set(names)) < len(names):
        raise bad_request("node ids must differ from each other")
    for node in nodes:
        if cloud.store.get(node["name"]) is not None:
            raise already_exists(node["name"])
        node["queuedResource"] = name
        if len(nodes) > 1:
            node["multisliceNode"] = True
            node["internal"]["slices"] = names
    internal: Json = {"nodes": nodes, **_window(cloud, given), **_duration(given)}
    return {
        **given,
        "name": name,
        "createTime": cloud.clock.timestamp(),
        "state": {"state": "CREATING", "creatingData": {}, "stateInitiator": "USER"},
        "internal": internal,
    }


def _check_tier(given: Json) -> None:
    tiers = [tier for tier in _TIERS if tier in given]
    if len(tiers) > 1:
        raise bad_request(f"{' and '.join(tiers)} are mutually exclusive")
    model = given.get("provisioningModel")
    if model == "RESERVATION_BOUND" and not given.get("reservationName"):
        raise bad_request("provisioning model RESERVATION_BOUND needs reservation_name")
    if model == "FLEX_START" and not given.get("runDuration"):
        raise bad_request("provisioning model FLEX_START needs run_duration")


def _planned(cloud: Cloud, zone: str, queued_id: str, spec: Json, given: Json, version: str) -> list[Json]:
    parent = spec.get("parent", "")
    if not parent.startswith("projects/") or len(parent.split("/")) != 4 or zone_of(parent + "/") != zone:
        raise bad_request(f'node_spec.parent "{parent}" must be the location of the queued resource')
    if "node" not in spec:
        raise bad_request("node_spec.node must be specified")
    node = {**spec["node"], "schedulingConfig": _scheduling(spec["node"], given)}
    return [new_node(cloud, cloud.project, zone, node_id, node, version) for node_id in _node_ids(spec, queued_id)]


def _node_ids(spec: Json, queued_id: str) -> list[str]:
    several = spec.get("multiNodeParams") or spec.get("multisliceParams")
    if several and spec.get("nodeId"):
        raise bad_request("node_id and multi_node_params are mutually exclusive")
    if not several:
        return [spec.get("nodeId", "")]
    count = several.get("nodeCount", 0)
    if count < 2:
        raise bad_request("node_count must be greater than 1")
    if count > 256:
        raise bad_request("node_count must be at most 256")
    prefix = several.get("nodeIdPrefix") or queued_id
    return [f"{prefix}-{index}" for index in range(count)]


def _scheduling(node: Json, given: Json) -> Json:
    """The tier of the request is the tier of its nodes."""
    scheduling = dict(node.get("schedulingConfig", {}))
    if "spot" in given or given.get("provisioningModel") == "SPOT":
        scheduling["spot"] = True
    if given.get("bestEffort") is not None:
        scheduling["preemptible"] = True
    if given.get("reservationName"):
        scheduling["reservationName"] = given["reservationName"]
    if given.get("guaranteed", {}).get("reserved") or given.get("reservationName"):
        scheduling["reserved"] = True
    return scheduling


def _window(cloud: Cloud, given: Json) -> Json:
    """validAfter and validUntil as absolute times."""
    policy, now = given.get("queueingPolicy", {}), cloud.clock.now()
    if len([key for key in policy if key != "validInterval"]) and "validInterval" in policy:
        raise bad_request("valid_interval excludes the other queueing policies")
    interval = policy.get("validInterval", {})
    window: Json = {}
    for key, exact, relative, edge in (
        ("validAfter", "validAfterTime", "validAfterDuration", "startTime"),
        ("validUntil", "validUntilTime", "validUntilDuration", "endTime"),
    ):
        moment = policy.get(exact) or interval.get(edge)
        if policy.get(relative):
            moment = (now + timedelta(seconds=_seconds(policy[relative]))).isoformat()
        if moment:
            window[key] = moment
    until = window.get("validUntil")
    if until and datetime.fromisoformat(until) <= now:
        raise bad_request("the valid until time must be in the future")
    return window


def _duration(given: Json) -> Json:
    asked = given.get("runDuration", {})
    if asked.get("terminationTime"):
        return {"terminates": asked["terminationTime"]}
    if asked.get("maxRunDuration"):
        seconds = _seconds(asked["maxRunDuration"])
        if not 0 < seconds <= _LONGEST_FLEX_START:
            raise bad_request("max_run_duration must be positive and at most 7 days")
        return {"maxRunSeconds": seconds}
    return {}


def _seconds(duration: str) -> float:
    seconds = float(duration.removesuffix("s"))
    if abs(seconds) > 366 * 86400:
        raise bad_request(f'the duration "{duration}" is out of range')
    return seconds
