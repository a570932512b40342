"""Queued resources: what is refused, and the states that they go through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from emulated_cloud import PROJECT, Live

PARENT = f"projects/{PROJECT}/locations/us-west4-a"
ZONE = f"/v2alpha1/{PARENT}"
QUEUED = f"{ZONE}/queuedResources/qr"
NODE = {
    "acceleratorType": "v5litepod-16",
    "runtimeVersion": "v2-alpha-tpuv5-lite",
    "networkConfig": {"subnetwork": "sub"},
}
SPEC = {"parent": PARENT, "nodeId": "n", "node": NODE}
Until = Callable[[Callable[[], Any]], Any]


def ask(cloud: Live, spec: dict[str, Any] | None = None, query: str = "", **fields: Any) -> Any:
    body = {"tpu": {"nodeSpec": [spec or SPEC]}, **fields}
    return cloud.http.post(f"{ZONE}/queuedResources?queuedResourceId=qr{query}", json=body)


def state(cloud: Live) -> str | None:
    return cloud.http.get(QUEUED).json().get("state", {}).get("state")


def settings(cloud: Live, **change: Any) -> None:
    assert cloud.http.patch("/_emulator/settings", json=change).status_code == 200


def test_a_request_becomes_active_and_its_node_names_it(vpc: Live, until: Until) -> None:
    operation = vpc.done(ask(vpc))
    assert operation["response"]["@type"].endswith("v2alpha1.QueuedResource")
    until(lambda: state(vpc) == "ACTIVE")
    node = vpc.http.get(f"{ZONE}/nodes/n").json()
    assert (node["state"], node["queuedResource"]) == ("READY", f"{PARENT}/queuedResources/qr")
    listed = vpc.http.get(f"/v2/projects/{PROJECT}/locations/-/queuedResources").json()["queuedResources"]
    assert [item["name"] for item in listed] == [f"{PARENT}/queuedResources/qr"]


def test_every_state_on_the_way_is_shown(vpc: Live, until: Until) -> None:
    settings(vpc, timings={"queue": 0.2, "node_create": 0.3})
    ask(vpc)
    seen: list[str | None] = []

    def look() -> bool:
        now = state(vpc)
        if now not in seen:
            seen.append(now)
        return now == "ACTIVE"

    until(look)
    assert seen == ["CREATING", "ACCEPTED", "WAITING_FOR_RESOURCES", "PROVISIONING", "ACTIVE"]


def test_it_waits_for_capacity_and_is_served_when_there_is_some(vpc: Live, until: Until) -> None:
    settings(vpc, capacity={"us-west4-a/*": 0})
    ask(vpc)
    until(lambda: state(vpc) == "WAITING_FOR_RESOURCES")
    assert vpc.http.get(f"{ZONE}/nodes").json() == {}
    settings(vpc, capacity={"us-west4-a/*": 16})
    until(lambda: state(vpc) == "ACTIVE")


def test_it_fails_when_its_time_is_over(vpc: Live, until: Until) -> None:
    settings(vpc, capacity={"us-west4-a/*": 0})
    ask(vpc, queueingPolicy={"validUntilDuration": "0.3s"})
    until(lambda: state(vpc) == "FAILED")
    failed = vpc.http.get(QUEUED).json()["state"]["failedData"]["error"]
    assert failed["code"] == 4
    vpc.done(vpc.http.delete(QUEUED))
    assert vpc.http.get(QUEUED).status_code == 404


def test_it_is_not_served_before_its_time(vpc: Live, until: Until) -> None:
    ask(vpc, queueingPolicy={"validAfterDuration": "600s"})
    until(lambda: state(vpc) == "ACCEPTED")


def test_several_slices_are_served_together_and_know_each_other(vpc: Live, until: Until) -> None:
    settings(vpc, capacity={"us-west4-a/*": 31})
    spec = {"parent": PARENT, "multiNodeParams": {"nodeCount": 2, "nodeIdPrefix": "s"}, "node": NODE}
    ask(vpc, spec)
    until(lambda: state(vpc) == "WAITING_FOR_RESOURCES")
    settings(vpc, capacity={"us-west4-a/*": 32})
    until(lambda: state(vpc) == "ACTIVE")
    nodes = vpc.http.get(f"{ZONE}/nodes").json()["nodes"]
    assert [(node["name"].rpartition("/")[2], node["multisliceNode"]) for node in nodes] == [
        ("s-0", True),
        ("s-1", True),
    ]
    second = nodes[1]["networkEndpoints"][0]["ipAddress"]
    env = vpc.cloud.metadata_of(second)["instance"]["attributes"]["tpu-env"]
    assert "MEGASCALE_NUM_SLICES: '2'" in env
    assert "MEGASCALE_SLICE_ID: '1'" in env
    assert f"MEGASCALE_COORDINATOR_ADDRESS: '{nodes[0]['networkEndpoints'][0]['ipAddress']}'" in env


def test_an_active_request_is_deleted_only_by_force(vpc: Live, until: Until) -> None:
    ask(vpc)
    until(lambda: state(vpc) == "ACTIVE")
    answer = vpc.http.delete(QUEUED)
    assert answer.status_code == 400
    assert answer.json()["error"]["status"] == "FAILED_PRECONDITION"
    vpc.done(vpc.http.delete(f"{QUEUED}?force=true"))
    assert vpc.http.get(QUEUED).status_code == 404
    assert vpc.http.get(f"{ZONE}/nodes").json() == {}
    assert vpc.run(vpc.cloud.hosts.states()) == {}


def test_a_preemption_suspends_it_for_good(vpc: Live, until: Until) -> None:
    ask(vpc, spot={})
    until(lambda: state(vpc) == "ACTIVE")
    vpc.http.post(f"/_emulator/nodes/{PARENT}/nodes/n:preempt")
    until(lambda: state(vpc) == "SUSPENDED")
    assert vpc.http.get(QUEUED).json()["state"]["stateInitiator"] == "SERVICE"
    assert vpc.http.get(f"{ZONE}/nodes/n").json()["state"] == "PREEMPTED"
    assert vpc.http.post(f"{QUEUED}:reset", json={}).status_code == 400
    vpc.done(vpc.http.delete(QUEUED))
    assert vpc.http.get(f"{ZONE}/nodes").json() == {}


def test_deleting_its_last_node_suspends_it(vpc: Live, until: Until) -> None:
    ask(vpc)
    until(lambda: state(vpc) == "ACTIVE")
    vpc.done(vpc.http.delete(f"{ZONE}/nodes/n"))
    assert vpc.http.get(QUEUED).json()["state"]["stateInitiator"] == "USER"
    assert state(vpc) == "SUSPENDED"


def test_a_request_with_a_run_duration_is_suspended_afterwards(vpc: Live, until: Until) -> None:
    ask(vpc, provisioningModel="FLEX_START", runDuration={"maxRunDuration": "0.2s"})
    until(lambda: state(vpc) == "SUSPENDED")
    assert vpc.http.get(f"{ZONE}/nodes").json() == {}


def test_a_suspended_request_eats_quota_until_it_is_deleted(vpc: Live, until: Until) -> None:
    settings(vpc, quota=[{"generation": "v5e", "chips": 16}])
    ask(vpc)
    until(lambda: state(vpc) == "ACTIVE")
    vpc.done(vpc.http.delete(f"{ZONE}/nodes/n"))
    assert vpc.http.post(f"{ZONE}/nodes?nodeId=other", json=NODE).status_code == 429
    vpc.done(vpc.http.delete(QUEUED))
    vpc.done(vpc.http.post(f"{ZONE}/nodes?nodeId=other", json=NODE))


def test_a_reset_restarts_the_hosts(vpc: Live, until: Until) -> None:
    ask(vpc)
    until(lambda: state(vpc) == "ACTIVE")
    vpc.done(vpc.http.post(f"{QUEUED}:reset", json={}))
    assert vpc.http.get(f"{ZONE}/nodes/n").json()["state"] == "READY"


def test_a_repeated_request_id_makes_one_request(vpc: Live) -> None:
    query = "&requestId=6fa459ea-ee8a-3ca4-894e-db77e160355e"
    assert ask(vpc, query=query).json()["name"] == ask(vpc, query=query).json()["name"]
    assert ask(vpc).status_code == 409


def test_maintenance_of_its_nodes_is_told_and_held(vpc: Live, until: Until) -> None:
    ask(vpc)
    until(lambda: state(vpc) == "ACTIVE")
    settings(vpc, timings={"node_maintenance": 0.5})
    held = vpc.http.post(f"{QUEUED}:performMaintenanceQueuedResource", json={"nodeNames": ["n"]})
    info = until(lambda: vpc.http.get(f"{QUEUED}:getMaintenanceInfo").json())
    assert info["nodeUpcomingMaintenances"][0]["nodeName"] == "n"
    vpc.done(held)
    assert vpc.http.get(f"{QUEUED}:getMaintenanceInfo").json() == {}


@pytest.mark.parametrize(
    ("spec", "fields", "words"),
    [
        (None, {"tpu": {}}, "node_spec must have at least one entry"),
        ({**SPEC, "parent": "projects/x/locations/us-central1-a"}, {}, "must be the location"),
        ({**SPEC, "nodeId": ""}, {}, "node_id"),
        ({"parent": PARENT, "nodeId": "n"}, {}, "node_spec.node must be specified"),
        ({**SPEC, "multiNodeParams": {"nodeCount": 2}}, {}, "mutually exclusive"),
        ({"parent": PARENT, "node": NODE, "multiNodeParams": {"nodeCount": 1}}, {}, "greater than 1"),
        ({**SPEC, "node": {**NODE, "acceleratorType": "v4-8"}}, {}, "the accelerator v4-8 was not found"),
        (None, {"spot": {}, "guaranteed": {}}, "mutually exclusive"),
        (None, {"provisioningModel": "FLEX_START"}, "needs run_duration"),
        (None, {"provisioningModel": "RESERVATION_BOUND"}, "needs reservation_name"),
        (None, {"queueingPolicy": {"validUntilTime": "2020-01-01T00:00:00Z"}}, "must be in the future"),
        (None, {"queueingPolicy": {"validUntilDuration": "1h"}}, "Invalid value at"),
        (None, {"runDuration": {"maxRunDuration": "1000000s"}}, "at most 7 days"),
    ],
)
def test_what_cannot_be_queued_is_refused(
    vpc: Live, spec: dict[str, Any] | None, fields: dict[str, Any], words: str
) -> None:
    answer = ask(vpc, spec, **fields)
    assert answer.status_code == 400
    assert words in answer.json()["error"]["message"]


def test_the_stable_version_takes_its_own_words_for_several_slices(vpc: Live) -> None:
    spec = {"parent": PARENT, "multisliceParams": {"nodeCount": 2}, "node": NODE}
    body = {"tpu": {"nodeSpec": [spec]}}
    vpc.done(vpc.http.post(f"/v2/{PARENT}/queuedResources?queuedResourceId=qr", json=body))
    assert vpc.http.post(f"{ZONE}/queuedResources?queuedResourceId=x", json=body).status_code == 400
