"""TPU nodes: what is refused, what is filled in, and their life."""

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
    "networkConfig": {"subnetwork": "sub"},
}


def create(cloud: Live, node_id: str = "pod", **changes: Any) -> dict[str, Any]:
    """Create a node, and return the operation as it ended."""
    return cloud.done(cloud.http.post(f"{ZONE}/nodes?nodeId={node_id}", json={**BODY, **changes}))


def get(cloud: Live, node_id: str = "pod") -> dict[str, Any]:
    return cloud.http.get(f"{ZONE}/nodes/{node_id}").json()


def settings(cloud: Live, **change: Any) -> None:
    assert cloud.http.patch("/_emulator/settings", json=change).status_code == 200


def refusal(cloud: Live, node_id: str = "pod", zone: str = ZONE, **changes: Any) -> tuple[int, str]:
    """HTTP code and message of a creation that must fail."""
    body = {key: value for key, value in {**BODY, **changes}.items() if value != "none"}
    answer = cloud.http.post(f"{zone}/nodes?nodeId={node_id}", json=body)
    assert answer.status_code >= 400, answer.json()
    return answer.status_code, answer.json()["error"]["message"]


def test_a_node_gets_what_google_fills_in(vpc: Live) -> None:
    operation = create(vpc, labels={"a": "b"}, schedulingConfig={"spot": True, "preemptible": False})
    node = get(vpc)
    assert operation["response"] == {"@type": "type.googleapis.com/google.cloud.tpu.v2alpha1.Node", **node}
    assert operation["metadata"]["target"] == node["name"] == NODE
    assert (node["state"], node["health"], node["apiVersion"]) == ("READY", "HEALTHY", "V2_ALPHA1")
    assert node["acceleratorConfig"] == {"type": "V5LITE_POD", "topology": "4x4"}
    assert [end["ipAddress"] for end in node["networkEndpoints"]] == [f"10.200.0.{last}" for last in (2, 3, 4, 5)]
    assert {end["port"] for end in node["networkEndpoints"]} == {8470}
    assert node["networkConfig"] == {
        "network": f"projects/{PROJECT}/global/networks/net",
        "subnetwork": f"projects/{PROJECT}/regions/us-west4/subnetworks/sub",
    }
    assert node["schedulingConfig"] == {"spot": True}
    assert node["cidrBlock"] == "10.200.0.0/24"
    assert node["serviceAccount"]["email"].endswith("-compute@developer.gserviceaccount.com")
    assert int(node["id"]) > 0
    assert len(vpc.run(vpc.cloud.hosts.states())) == 4


def test_the_accelerator_can_be_chosen_by_its_config(vpc: Live) -> None:
    create(vpc, acceleratorType=None, acceleratorConfig={"type": "V5LITE_POD", "topology": "2x4"})
    assert get(vpc)["acceleratorType"] == "v5litepod-8"
    assert len(get(vpc)["networkEndpoints"]) == 1


def test_external_addresses_are_given_only_when_asked_for(vpc: Live) -> None:
    create(vpc, networkConfig={"subnetwork": "sub", "enableExternalIps": True})
    externals = {end["accessConfig"]["externalIp"] for end in get(vpc)["networkEndpoints"]}
    assert len(externals) == 4


@pytest.mark.parametrize(
    "subnetwork",
    [
        "sub",
        "regions/us-west4/subnetworks/sub",
        f"projects/{PROJECT}/regions/us-west4/subnetworks/sub",
        f"https://www.googleapis.com/compute/v1/projects/{PROJECT}/regions/us-west4/subnetworks/sub",
    ],
)
def test_every_form_of_a_subnetworks_name_is_taken(vpc: Live, subnetwork: str) -> None:
    create(vpc, networkConfig={"subnetwork": subnetwork})
    assert get(vpc)["networkConfig"]["subnetwork"].endswith("regions/us-west4/subnetworks/sub")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"acceleratorType": "v4-8"}, "the accelerator v4-8 was not found in zone us-west4-a [EID: 0x"),
        ({"acceleratorType": "none"}, "one of accelerator_type and accelerator_config must be specified"),
        ({"acceleratorConfig": {"type": "V5LITE_POD", "topology": "4x4"}}, "mutually exclusive"),
        (
            {"acceleratorType": "none", "acceleratorConfig": {"type": "V5LITE_POD", "topology": "3x3"}},
            'topology "3x3", could not be found',
        ),
        ({"runtimeVersion": "tpu-vm-nonsense"}, 'runtime version "tpu-vm-nonsense" was not found'),
        ({"runtimeVersion": "none"}, "runtime_version must be specified"),
        ({"networkConfig": "none"}, f"projects/{PROJECT}/global/networks/default' was not found"),
        ({"networkConfig": {"subnetwork": "other"}}, "regions/us-west4/subnetworks/other' was not found"),
        ({"networkConfig": {"subnetwork": "regions/us-east1/subnetworks/sub"}}, "is not in the region of zone"),
        ({"networkConfig": {"subnetwork": "a/b/c"}}, "The URL is malformed"),
        ({"networkConfigs": [{"subnetwork": "sub"}]}, "mutually exclusive"),
        ({"schedulingConfig": {"spot": True, "reserved": True}}, "mutually exclusive"),
        ({"labels": {"Upper": "x"}}, 'label "Upper=x" is invalid'),
        ({"tags": ["Not_a_tag"]}, 'tag "Not_a_tag" is invalid'),
        ({"metadata": {"a": "x" * 262145}}, 'metadata "a" is invalid'),
        ({"description": "x" * 513}, "longer than 512"),
        ({"dataDisks": [{"sourceDisk": "projects/p/zones/us-west4-a/disks/d"}]}, "was not found in zone"),
        ({"serviceAccount": {"email": f"no@{PROJECT}.iam.gserviceaccount.com"}}, "does not exist"),
        ({"node_id": "a/b"}, "node_id"),
        ({"node_id": ""}, "node_id"),
    ],
)
def test_what_cloud_tpu_refuses_is_refused_at_once(vpc: Live, changes: dict[str, Any], words: str) -> None:
    code, message = refusal(vpc, **changes)
    assert code == 400
    assert words in message
    assert vpc.http.get(f"{ZONE}/nodes").json() == {}


def test_a_zone_or_project_that_is_not_there_is_refused(vpc: Live) -> None:
    assert refusal(vpc, zone=f"/v2/projects/{PROJECT}/locations/mars-a")[0] == 404
    assert refusal(vpc, zone="/v2/projects/other/locations/us-west4-a")[0] == 403


def test_a_taken_name_answers_409_and_a_missing_one_404(vpc: Live) -> None:
    create(vpc)
    assert refusal(vpc) == (409, f"Resource '{NODE}' already exists")
    answer = vpc.http.get(f"{ZONE}/nodes/other")
    assert answer.status_code == 404
    assert answer.json()["error"]["details"][0]["resourceName"].endswith("/nodes/other")


def test_a_repeated_request_id_creates_one_node(vpc: Live) -> None:
    address = f"{ZONE}/nodes?nodeId=pod&requestId=6fa459ea-ee8a-3ca4-894e-db77e160355e"
    first, second = (vpc.http.post(address, json=BODY).json() for _ in range(2))
    assert first["name"] == second["name"]
    assert vpc.http.post(f"{ZONE}/nodes?nodeId=pod&requestId=7", json=BODY).status_code == 400


def test_a_full_subnetwork_fails_the_operation_and_leaves_nothing(vpc: Live) -> None:
    operation = create(vpc, acceleratorType="v5litepod-256")
    assert not operation.get("error")
    body = {"name": "small", "network": "global/networks/net", "ipCidrRange": "10.201.0.0/29"}
    vpc.done(vpc.http.post(f"/compute/v1/projects/{PROJECT}/regions/us-west4/subnetworks", json=body))
    operation = create(vpc, "other", acceleratorType="v5litepod-32", networkConfig={"subnetwork": "small"})
    assert operation["error"]["code"] == 8
    assert "IP space of" in operation["error"]["message"]
    assert get(vpc, "other")["error"]["code"] == 404
    assert vpc.cloud.addresses.holders(f"projects/{PROJECT}/regions/us-west4/subnetworks/small") == {}


def test_a_stockout_is_error_8_of_the_operation_and_leaves_nothing(vpc: Live) -> None:
    settings(vpc, capacity={"us-west4-a/v5litepod-*": 16})
    assert "error" not in create(vpc)
    operation = create(vpc, "second")
    assert operation["error"]["code"] == 8
    assert 'There is no more capacity in the zone "us-west4-a"' in operation["error"]["message"]
    assert get(vpc, "second")["error"]["code"] == 404


def test_quota_answers_429_in_googles_words_and_counts_preempted_nodes(vpc: Live) -> None:
    settings(vpc, quota=[{"generation": "v5e", "tier": "spot", "chips": 16}])
    create(vpc, schedulingConfig={"spot": True})
    vpc.http.post(f"/_emulator/nodes/{NODE}:preempt")
    assert get(vpc)["state"] == "PREEMPTED"
    code, message = refusal(vpc, "second", schedulingConfig={"spot": True})
    assert code == 429
    assert message == (
        "Quota limit 'TPUV5sPreemptibleLitepodPerProjectPerRegionForTPUAPI' has been exceeded. "
        "Limit: 16 in region us-west4."
    )
    assert "error" not in create(vpc, "standard")


def test_a_reserved_node_needs_a_reservation_with_room(vpc: Live) -> None:
    operation = create(vpc, schedulingConfig={"reserved": True})
    assert operation["error"]["code"] == 8
    assert "Insufficient reserved capacity." in operation["error"]["message"]
    settings(vpc, reservations=[{"name": "r", "zone": "us-west4-a", "generation": "v5e", "chips": 16}])
    assert "error" not in create(vpc, schedulingConfig={"reserved": True})
    listed = vpc.http.get(f"{ZONE}/reservations").json()["reservations"]
    assert listed[0]["standard"]["usage"] == {"total": "16"}


def test_only_some_fields_can_be_patched(vpc: Live) -> None:
    create(vpc)
    answer = vpc.http.patch(f"{ZONE}/nodes/pod?updateMask=labels,metadata", json={"labels": {"x": "y"}})
    vpc.done(answer)
    assert get(vpc)["labels"] == {"x": "y"}
    for mask in ("runtimeVersion", "accelerator_type", ""):
        answer = vpc.http.patch(f"{ZONE}/nodes/pod?updateMask={mask}", json={"runtimeVersion": "x"})
        assert answer.status_code == 400
        assert "update_mask" in answer.json()["error"]["message"]


def test_new_tags_reach_the_hosts(vpc: Live) -> None:
    create(vpc)
    vpc.done(vpc.http.patch(f"{ZONE}/nodes/pod?updateMask=tags", json={"tags": ["fresh"]}))
    assert {spec.tags for spec in vpc.cloud.hosts.specs.values()} == {("fresh",)}


def test_a_single_host_can_be_stopped_and_started_and_a_slice_cannot(vpc: Live) -> None:
    create(vpc)
    assert "more than one host" in vpc.http.post(f"{ZONE}/nodes/pod:stop", json={}).json()["error"]["message"]
    create(vpc, "one", acceleratorType="v5litepod-8")
    vpc.done(vpc.http.post(f"{ZONE}/nodes/one:stop", json={}))
    assert get(vpc, "one")["state"] == "STOPPED"
    assert "update" not in vpc.http.post(f"{ZONE}/nodes/one:stop", json={}).json()
    vpc.done(vpc.http.post(f"{ZONE}/nodes/one:start", json={}))
    assert get(vpc, "one")["state"] == "READY"
    assert vpc.http.post(f"{ZONE}/nodes/one:start", json={}).status_code == 400


def test_a_spot_node_cannot_be_restarted(vpc: Live) -> None:
    create(vpc, acceleratorType="v5litepod-8", schedulingConfig={"spot": True})
    vpc.done(vpc.http.post(f"{ZONE}/nodes/pod:stop", json={}))
    answer = vpc.http.post(f"{ZONE}/nodes/pod:start", json={})
    assert answer.status_code == 400
    assert "delete and recreate" in answer.json()["error"]["message"]


def test_deletion_gives_back_hosts_and_addresses(vpc: Live) -> None:
    create(vpc)
    operation = vpc.done(vpc.http.delete(f"{ZONE}/nodes/pod"))
    assert operation["response"] == {"@type": "type.googleapis.com/google.protobuf.Empty"}
    assert get(vpc)["error"]["code"] == 404
    assert vpc.run(vpc.cloud.hosts.states()) == {}
    create(vpc)
    assert get(vpc)["networkEndpoints"][0]["ipAddress"] == "10.200.0.2"


def test_a_node_whose_host_never_comes_stays_creating_until_it_is_deleted(vpc: Live, until: Callable[..., Any]) -> None:
    settings(vpc, faults={"hosts_that_never_come": ["*/workers/2"]})
    creation = vpc.http.post(f"{ZONE}/nodes?nodeId=pod", json=BODY)
    until(lambda: len(vpc.run(vpc.cloud.hosts.states())) == 3)
    assert get(vpc)["state"] == "CREATING"
    vpc.done(vpc.http.delete(f"{ZONE}/nodes/pod"))
    assert vpc.done(creation)["error"]["code"] == 1
    assert vpc.run(vpc.cloud.hosts.states()) == {}


def test_a_creation_can_be_cancelled_and_leaves_nothing(vpc: Live) -> None:
    settings(vpc, timings={"node_create": 600})
    creation = vpc.http.post(f"{ZONE}/nodes?nodeId=pod", json=BODY)
    assert vpc.http.post(f"/v2/{creation.json()['name']}:cancel", json={}).json() == {}
    assert vpc.done(creation)["error"] == {"code": 1, "message": "Operation cancelled"}
    assert get(vpc)["error"]["code"] == 404


def test_lists_come_in_pages_and_by_all_zones(vpc: Live) -> None:
    for name in ("a", "b", "c"):
        create(vpc, name, acceleratorType="v5litepod-1")
    first = vpc.http.get(f"{ZONE}/nodes?pageSize=2").json()
    rest = vpc.http.get(f"{ZONE}/nodes?pageSize=2&pageToken={first['nextPageToken']}").json()
    names = [node["name"].rpartition("/")[2] for node in first["nodes"] + rest["nodes"]]
    assert names == ["a", "b", "c"]
    assert "nextPageToken" not in rest
    assert vpc.http.get(f"{ZONE}/nodes?pageToken=bad").status_code == 400
    assert len(vpc.http.get(f"/v2/projects/{PROJECT}/locations/-/nodes").json()["nodes"]) == 3
    assert vpc.http.get(f"/v2/projects/{PROJECT}/locations/us-central1-a/nodes").json() == {}


def test_a_version_shows_only_the_fields_that_it_has(vpc: Live) -> None:
    create(vpc, autocheckpointEnabled=True, bootDiskConfig={"diskSizeGb": "200"})
    assert get(vpc)["autocheckpointEnabled"] is True
    stable = vpc.http.get(f"/v2/{NODE}").json()
    assert "autocheckpointEnabled" not in stable
    assert stable["bootDiskConfig"] == {}


def test_operations_are_listed_and_can_be_forgotten(vpc: Live) -> None:
    operation = create(vpc)
    listed = vpc.http.get(f"{ZONE}/operations").json()["operations"]
    assert [found["name"] for found in listed] == [operation["name"]]
    assert vpc.http.delete(f"/v2/{operation['name']}").json() == {}
    assert vpc.http.get(f"/v2/{operation['name']}").status_code == 404


@pytest.mark.parametrize(
    ("query", "types"),
    [
        ("filter=type=v5litepod-16", ["v5litepod-16"]),
        ("filter=type=v5litepod-4 OR type=v5litepod-8", ["v5litepod-4", "v5litepod-8"]),
        ('filter=type:"v5litepod-1" AND type!=v5litepod-1 AND type!=v5litepod-16', ["v5litepod-128"]),
    ],
)
def test_accelerator_types_can_be_filtered(vpc: Live, query: str, types: list[str]) -> None:
    found = vpc.http.get(f"{ZONE}/acceleratorTypes?{query}").json()["acceleratorTypes"]
    assert [item["type"] for item in found] == types


def test_a_filter_that_makes_no_sense_is_refused(vpc: Live) -> None:
    assert vpc.http.get(f"{ZONE}/acceleratorTypes?filter=(((").status_code == 400


def test_locations_and_runtime_versions_are_listed_and_got(vpc: Live) -> None:
    locations = vpc.http.get(f"/v2/projects/{PROJECT}/locations").json()["locations"]
    assert "us-west4-a" in [location["locationId"] for location in locations]
    versions = vpc.http.get(f"{ZONE}/runtimeVersions").json()["runtimeVersions"]
    for item in (*locations[:1], *versions[:1]):
        assert vpc.http.get(f"/v2/{item['name']}").json() == item
    assert vpc.http.get(f"{ZONE}/runtimeVersions/none").status_code == 404
    identity = vpc.http.post(f"{ZONE}:generateServiceIdentity", json={}).json()["identity"]
    assert identity["email"].endswith("@cloud-tpu.iam.gserviceaccount.com")
