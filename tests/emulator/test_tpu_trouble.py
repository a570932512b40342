"""What goes wrong on purpose: preemption, maintenance, dead hosts, an API that refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from emulated_cloud import PROJECT, Live

ZONE = f"/v2alpha1/projects/{PROJECT}/locations/us-west4-a"
NODE = f"projects/{PROJECT}/locations/us-west4-a/nodes/pod"
BODY = {
    "acceleratorType": "v5litepod-16",
    "runtimeVersion": "v2-alpha-tpuv5-lite",
    "networkConfig": {"subnetwork": "sub", "enableExternalIps": True},
    "schedulingConfig": {"spot": True},
}
Until = Callable[[Callable[[], Any]], Any]


@pytest.fixture
def pod(vpc: Live) -> Live:
    vpc.done(vpc.http.post(f"{ZONE}/nodes?nodeId=pod", json=BODY))
    return vpc


def node(cloud: Live) -> dict[str, Any]:
    return cloud.http.get(f"{ZONE}/nodes/pod").json()


def settings(cloud: Live, **change: Any) -> None:
    assert cloud.http.patch("/_emulator/settings", json=change).status_code == 200


def test_a_preempted_node_loses_its_hosts_and_lingers(pod: Live) -> None:
    answer = pod.http.post(f"/_emulator/nodes/{NODE}:preempt")
    assert answer.json()["state"] == node(pod)["state"] == "PREEMPTED"
    assert pod.run(pod.cloud.hosts.states()) == {}
    patch = pod.http.patch(f"{ZONE}/nodes/pod?updateMask=labels", json={"labels": {}})
    assert "update is not supported while in state PREEMPTED" in patch.json()["error"]["message"]
    pod.done(pod.http.delete(f"{ZONE}/nodes/pod"))
    assert node(pod)["error"]["code"] == 404


def test_a_cloud_that_does_not_say_preempted_shows_ready(pod: Live) -> None:
    settings(pod, faults={"says_preempted": False})
    pod.http.post(f"/_emulator/nodes/{NODE}:preempt")
    assert node(pod)["state"] == "READY"
    assert pod.run(pod.cloud.hosts.states()) == {}


def test_a_preempted_node_that_does_not_linger_is_gone(pod: Live) -> None:
    settings(pod, faults={"preempted_lingers": False})
    assert pod.http.post(f"/_emulator/nodes/{NODE}:preempt").json() == {}
    assert node(pod)["error"]["code"] == 404


def test_spot_nodes_can_be_preempted_by_the_clock(vpc: Live, until: Until) -> None:
    settings(vpc, faults={"preempt_after": 0.2})
    vpc.done(vpc.http.post(f"{ZONE}/nodes?nodeId=pod", json=BODY))
    until(lambda: node(vpc)["state"] == "PREEMPTED")


def test_a_preemption_in_the_middle_of_a_creation_ends_it(vpc: Live) -> None:
    settings(vpc, timings={"node_create": 600})
    creation = vpc.http.post(f"{ZONE}/nodes?nodeId=pod", json=BODY)
    vpc.http.post(f"/_emulator/nodes/{NODE}:preempt")
    assert vpc.done(creation)["error"]["code"] == 1


def test_a_dead_host_is_named_and_repaired(pod: Live, until: Until) -> None:
    settings(pod, timings={"repair": 0.5})
    pod.http.post(f"/_emulator/nodes/{NODE}:fail-host?worker=2")
    sick = until(lambda: node(pod) if node(pod)["health"] == "TIMEOUT" else None)
    assert sick["healthDescription"] == "Worker 2 does not answer."
    assert sick["symptoms"][0]["workerId"] == "2"
    assert sick["state"] == "READY"
    well = until(lambda: node(pod) if node(pod)["health"] == "HEALTHY" else None)
    assert (well["state"], "symptoms" in well) == ("READY", False)
    assert set(pod.run(pod.cloud.hosts.states()).values()) == {"running"}


def test_a_dead_host_is_not_repaired_when_that_is_set(pod: Live, until: Until) -> None:
    settings(pod, faults={"repair": "never"})
    pod.http.post(f"/_emulator/nodes/{NODE}:fail-host?worker=0")
    until(lambda: node(pod)["health"] == "TIMEOUT")
    assert pod.cloud._tasks == {}


def test_a_maintenance_changes_the_external_addresses_only(pod: Live) -> None:
    before = node(pod)["networkEndpoints"]
    operation = pod.done(pod.http.post(f"{ZONE}/nodes/pod:performMaintenance", json={}))
    after = node(pod)["networkEndpoints"]
    assert "error" not in operation
    assert [end["ipAddress"] for end in after] == [end["ipAddress"] for end in before]
    assert all(old["accessConfig"] != new["accessConfig"] for old, new in zip(before, after, strict=True))


def test_a_simulated_maintenance_event_shows_while_it_lasts(pod: Live, until: Until) -> None:
    settings(pod, timings={"node_maintenance": 0.5})
    held = pod.http.post(f"{ZONE}/nodes/pod:simulateMaintenanceEvent", json={"workerIds": ["1"]})
    during = until(lambda: node(pod) if "upcomingMaintenance" in node(pod) else None)
    assert during["health"] == "UNHEALTHY_MAINTENANCE"
    assert during["upcomingMaintenance"]["maintenanceStatus"] == "ONGOING"
    pod.done(held)
    assert node(pod)["health"] == "HEALTHY"
    wrong = pod.http.post(f"{ZONE}/nodes/pod:simulateMaintenanceEvent", json={"workerIds": ["9"]})
    assert wrong.status_code == 400


def test_the_api_refuses_a_number_of_times(live: Live) -> None:
    settings(live, faults={"api": [{"methods": "tpu.*.nodes.*", "http_code": 503, "times": 2}]})
    codes = [live.http.get(f"{ZONE}/nodes").status_code for _ in range(3)]
    assert codes == [503, 503, 200]
    assert live.http.get("/_emulator/settings").json()["faults"]["api"] == []


def test_the_api_refuses_for_a_while_and_only_what_is_named(live: Live, until: Until) -> None:
    settings(live, faults={"api": [{"methods": "*.nodes.list", "http_code": 429, "seconds": 0.5}]})
    assert live.http.get(f"{ZONE}/nodes").json()["error"]["status"] == "RESOURCE_EXHAUSTED"
    assert live.http.get(f"{ZONE}/runtimeVersions").status_code == 200
    until(lambda: live.http.get(f"{ZONE}/nodes").status_code == 200)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"timings": {"node_create": -1}}, "timings.node_create"),
        ({"timing": {}}, "timing"),
        ({"faults": {"api": [{"http_code": 200}]}}, "faults.api.0.http_code"),
        ({"capacity": {"x": "many"}}, "capacity.x"),
    ],
)
def test_a_wrong_setting_is_named_and_changes_nothing(live: Live, change: dict[str, Any], words: str) -> None:
    answer = live.http.patch("/_emulator/settings", json=change)
    assert answer.status_code == 400
    assert f"Emulator setting {words}" in answer.json()["error"]["message"]


def test_trouble_for_a_node_or_worker_that_is_not_there_is_refused(pod: Live) -> None:
    assert pod.http.post(f"/_emulator/nodes/{NODE}x:preempt").status_code == 404
    assert pod.http.post(f"/_emulator/nodes/{NODE}:fail-host?worker=4").status_code == 400
    assert pod.http.post(f"/_emulator/nodes/{NODE}:explode").status_code == 404


def test_a_reset_leaves_nothing(pod: Live) -> None:
    assert pod.http.post("/_emulator/reset").json() == {}
    status = pod.http.get("/_emulator/status").json()
    assert not any(status[key] for key in ("hosts", "nodes", "networks", "subnetworks", "running_operations"))
    assert pod.run(pod.cloud.hosts.leftovers()) == []
