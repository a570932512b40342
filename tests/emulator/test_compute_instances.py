"""Instances, over HTTP: each runs as a host, holds its address and disk, and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rehearsal.emulator.settings import EmulatorSettings
from rehearsal.hosts.backend import HostsError, HostState, RangeCollision

ROOT = "/compute/beta/projects/demo-proj"
ZONE = f"{ROOT}/zones/us-west4-a"
INSTANCES = f"{ZONE}/instances"
KEY = "projects/demo-proj/zones/us-west4-a/instances/bastion"
SUBNETWORK = "projects/demo-proj/regions/us-west4/subnetworks/sub"
BASTION: dict[str, Any] = {
    "name": "bastion",
    "machineType": "projects/demo-proj/zones/us-west4-a/machineTypes/e2-micro",
    "disks": [
        {
            "boot": True,
            "autoDelete": True,
            "initializeParams": {"sourceImage": "projects/debian-cloud/global/images/family/debian-12"},
        }
    ],
    "networkInterfaces": [{"subnetwork": SUBNETWORK}],
    "tags": {"items": ["bastion"]},
    "metadata": {"items": [{"key": "ssh-keys", "value": "nixie:ssh-ed25519 AAAA nixie"}]},
}


def _made(vpc: Any, **change: Any) -> dict[str, Any]:
    ended = vpc.done(vpc.http.post(INSTANCES, json={**BASTION, **change}))
    assert "error" not in ended, ended
    shown: dict[str, Any] = vpc.http.get(f"{INSTANCES}/{change.get('name', 'bastion')}").json()
    return shown


def _message(answer: Any) -> str:
    return str(answer.json()["error"]["message"])


def test_an_instance_runs_as_one_host_at_its_address(vpc: Any) -> None:
    shown = _made(vpc)
    host = vpc.cloud.hosts.specs[KEY]
    assert shown["status"] == "RUNNING"
    assert shown["networkInterfaces"][0]["networkIP"] == host.ip == "10.200.0.2"
    assert (host.hostname, host.zone, host.subnetwork) == ("bastion", "us-west4-a", SUBNETWORK)
    assert (host.tags, host.generation, host.nat) == (("bastion",), None, False)
    assert vpc.cloud.hosts.subnetworks[SUBNETWORK].ip_cidr_range == "10.200.0.0/24"


def test_its_boot_disk_is_a_disk_of_its_name_that_goes_with_it(vpc: Any) -> None:
    shown = _made(vpc)
    disk = vpc.http.get(f"{ZONE}/disks/bastion").json()
    assert shown["disks"][0]["source"] == disk["selfLink"]
    assert (disk["sizeGb"], disk["users"]) == ("10", [shown["selfLink"]])
    assert disk["sourceImage"].endswith("/projects/debian-cloud/global/images/debian-12-bookworm-v20261014")
    vpc.done(vpc.http.delete(f"{INSTANCES}/bastion"))
    assert vpc.http.get(f"{ZONE}/disks/bastion").status_code == 404


def test_a_deleted_instance_leaves_no_host_address_or_record(vpc: Any) -> None:
    _made(vpc)
    vpc.done(vpc.http.delete(f"{INSTANCES}/bastion"))
    assert vpc.run(vpc.cloud.hosts.states()) == {}
    assert vpc.cloud.addresses.holders(SUBNETWORK) == {}
    vpc.done(vpc.http.delete(f"/compute/v1/{SUBNETWORK}"))
    vpc.done(vpc.http.delete("/compute/v1/projects/demo-proj/global/networks/net"))
    assert vpc.run(vpc.cloud.hosts.leftovers()) == []


def test_a_subnetwork_with_an_instance_cannot_go(vpc: Any) -> None:
    _made(vpc)
    refused = vpc.http.delete(f"/compute/v1/{SUBNETWORK}")
    assert refused.status_code == 400
    assert refused.json()["error"]["errors"][0]["reason"] == "resourceInUseByAnotherResource"
    assert _message(refused) == f"The subnetwork resource '{SUBNETWORK}' is already being used by '{KEY}'"


def test_a_subnetwork_grows_under_its_hosts(vpc: Any) -> None:
    _made(vpc)
    grow = f"/compute/v1/{SUBNETWORK}/expandIpCidrRange"
    vpc.done(vpc.http.post(grow, json={"ipCidrRange": "10.200.0.0/20"}))
    assert _made(vpc, name="second")["networkInterfaces"][0]["networkIP"] == "10.200.0.3"
    assert vpc.cloud.hosts.subnetworks[SUBNETWORK].ip_cidr_range == "10.200.0.0/20"


def test_stop_start_and_reset_move_the_host(vpc: Any) -> None:
    _made(vpc)
    vpc.done(vpc.http.post(f"{INSTANCES}/bastion/stop"))
    assert vpc.http.get(f"{INSTANCES}/bastion").json()["status"] == "TERMINATED"
    assert vpc.run(vpc.cloud.hosts.states())[KEY] is HostState.STOPPED
    assert vpc.http.post(f"{INSTANCES}/bastion/reset").status_code == 400
    vpc.done(vpc.http.post(f"{INSTANCES}/bastion/start"))
    vpc.done(vpc.http.post(f"{INSTANCES}/bastion/reset"))
    assert vpc.http.get(f"{INSTANCES}/bastion").json()["status"] == "RUNNING"
    assert vpc.run(vpc.cloud.hosts.states())[KEY] is HostState.RUNNING


def test_a_host_that_dies_is_restarted_as_compute_engine_does(vpc: Any, until: Callable[..., Any]) -> None:
    _made(vpc)
    vpc.run(vpc.cloud.hosts.kill(KEY))
    until(lambda: vpc.run(vpc.cloud.hosts.states())[KEY] is HostState.RUNNING)
    assert vpc.http.get(f"{INSTANCES}/bastion").json()["status"] == "RUNNING"


def test_a_spot_instance_whose_host_dies_stays_terminated(vpc: Any, until: Callable[..., Any]) -> None:
    _made(vpc, scheduling={"provisioningModel": "SPOT"})
    vpc.run(vpc.cloud.hosts.kill(KEY))
    until(lambda: vpc.http.get(f"{INSTANCES}/bastion").json()["status"] == "TERMINATED")


def test_an_instance_that_cannot_be_restarted_says_why(vpc: Any, until: Callable[..., Any], monkeypatch: Any) -> None:
    _made(vpc)

    async def refuse(_key: str) -> None:
        raise HostsError("The engine is gone: start it.")

    monkeypatch.setattr(vpc.cloud.hosts, "start", refuse)
    vpc.run(vpc.cloud.hosts.kill(KEY))
    shown = until(lambda: (one := vpc.http.get(f"{INSTANCES}/bastion").json())["status"] == "TERMINATED" and one)
    assert shown["statusMessage"] == "The engine is gone: start it."


def test_an_instance_whose_host_has_vanished_can_be_stopped(vpc: Any) -> None:
    _made(vpc)
    vpc.run(vpc.cloud.hosts.delete(KEY))
    assert "error" not in vpc.done(vpc.http.post(f"{INSTANCES}/bastion/stop"))
    vpc.done(vpc.http.post(f"{INSTANCES}/bastion/start"))
    assert KEY in vpc.cloud.hosts.specs


def test_a_range_that_is_in_use_on_this_machine_fails_the_operation_and_says_so(vpc: Any, monkeypatch: Any) -> None:
    async def collide(_spec: object) -> None:
        raise RangeCollision("10.200.0.0/24 is in use by docker0: choose another range.")

    monkeypatch.setattr(vpc.cloud.hosts, "prepare_subnetwork", collide)
    ended = vpc.done(vpc.http.post(INSTANCES, json=BASTION))
    assert ended["error"]["errors"][0]["message"] == "10.200.0.0/24 is in use by docker0: choose another range."
    assert vpc.http.get(f"{INSTANCES}/bastion").status_code == 404


def test_a_subnetwork_that_cannot_grow_on_this_machine_keeps_its_range(vpc: Any, monkeypatch: Any) -> None:
    _made(vpc)

    async def collide(_spec: object) -> None:
        raise RangeCollision("10.200.0.0/20 is in use by docker0: choose another range.")

    monkeypatch.setattr(vpc.cloud.hosts, "prepare_subnetwork", collide)
    grow = f"/compute/v1/{SUBNETWORK}/expandIpCidrRange"
    assert (
        "docker0"
        in vpc.done(vpc.http.post(grow, json={"ipCidrRange": "10.200.0.0/20"}))["error"]["errors"][0]["message"]
    )
    assert vpc.http.get(f"/compute/v1/{SUBNETWORK}").json()["ipCidrRange"] == "10.200.0.0/24"


def test_a_host_that_died_while_the_emulator_was_away_comes_back_at_its_start(
    vpc: Any, until: Callable[..., Any]
) -> None:
    _made(vpc)
    vpc.run(vpc.cloud.hosts.delete(KEY))
    vpc.run(vpc.cloud.start())
    until(lambda: KEY in vpc.cloud.hosts.specs)


def test_an_instance_whose_host_cannot_be_made_is_not_there_afterwards(vpc: Any, monkeypatch: Any) -> None:
    async def refuse(_spec: object) -> None:
        raise ValueError("the engine is gone")

    monkeypatch.setattr(vpc.cloud.hosts, "create", refuse)
    ended = vpc.done(vpc.http.post(INSTANCES, json=BASTION))
    assert ended["error"]["errors"]
    assert vpc.http.get(f"{INSTANCES}/bastion").status_code == 404
    assert vpc.http.get(f"{ZONE}/disks/bastion").status_code == 404
    assert vpc.cloud.addresses.holders(SUBNETWORK) == {}


def test_an_instance_that_waits_for_its_host_can_be_seen_and_deleted(vpc: Any) -> None:
    settings = EmulatorSettings(timings=vpc.cloud.settings.timings)
    settings.faults.hosts_that_never_come = ["*/instances/bastion"]
    vpc.cloud.settings = settings
    creation = vpc.http.post(INSTANCES, json=BASTION)
    assert vpc.http.get(f"{INSTANCES}/bastion").json()["status"] in ("PROVISIONING", "STAGING")
    vpc.done(vpc.http.delete(f"{INSTANCES}/bastion"))
    vpc.done(creation)
    assert vpc.cloud.hosts.specs == {}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"machineType": "zones/us-west4-a/machineTypes/e9-huge"}, "'e9-huge' does not exist in zone 'us-west4-a'"),
        ({"machineType": None}, "Required field 'resource.machineType'"),
        ({"disks": []}, "No disks are specified."),
        ({"disks": [{"boot": True}]}, "A boot disk needs an image or a source disk."),
        ({"networkInterfaces": []}, "At least one network interface is required."),
        ({"networkInterfaces": [{"subnetwork": "no"}]}, "The referenced subnetwork resource cannot be found."),
        ({"networkInterfaces": [{}]}, "'global/networks/default'"),
        ({"networkInterfaces": [{"network": "global/networks/net"}]}, "custom subnetmode network"),
        (
            {"networkInterfaces": [{"subnetwork": "sub", "networkIP": "10.9.0.9"}]},
            "Requested internal IP is outside the subnetwork CIDR range.",
        ),
        ({"tags": {"items": ["Bad"]}}, "'resource.tags.items[0]': 'Bad'"),
        ({"labels": {"Bad": "x"}}, "'resource.labels': 'Bad'"),
        ({"metadata": {"items": [{"key": "a", "value": "1"}] * 2}}, "Metadata has duplicate key: a"),
        ({"metadata": {"items": [{"key": "a b", "value": "1"}]}}, "'resource.metadata.items[0].key': 'a b'"),
        ({"serviceAccounts": [{"email": "no@demo-proj.iam.gserviceaccount.com"}]}, "does not have access to service"),
        ({"scheduling": {"preemptible": True, "automaticRestart": True}}, "automatic restart"),
    ],
)
def test_an_instance_that_google_would_refuse_is_refused_and_leaves_nothing(
    vpc: Any, change: dict[str, Any], words: str
) -> None:
    answer = vpc.http.post(INSTANCES, json={**BASTION, **change})
    assert answer.status_code == 400
    assert words in _message(answer)
    assert "items" not in vpc.http.get(f"{ZONE}/disks").json()
    assert vpc.cloud.addresses.holders(SUBNETWORK) == {}


def test_an_address_that_is_taken_fails_the_operation_as_on_google(vpc: Any) -> None:
    _made(vpc)
    interface = {"subnetwork": SUBNETWORK, "networkIP": "10.200.0.2"}
    ended = vpc.done(vpc.http.post(INSTANCES, json={**BASTION, "name": "second", "networkInterfaces": [interface]}))
    assert ended["error"]["errors"][0]["code"] == "IP_IN_USE_BY_ANOTHER_RESOURCE"
    assert vpc.http.get(f"{INSTANCES}/second").status_code == 404


def test_a_full_subnetwork_fails_the_operation_as_on_google(vpc: Any) -> None:
    small = {"name": "small", "network": "global/networks/net", "ipCidrRange": "10.3.0.0/29"}
    vpc.done(vpc.http.post(f"{ROOT}/regions/us-west4/subnetworks", json=small))
    for number in range(4):
        _made(vpc, name=f"vm{number}", networkInterfaces=[{"subnetwork": "small"}])
    body = {**BASTION, "name": "vm4", "networkInterfaces": [{"subnetwork": "small"}]}
    ended = vpc.done(vpc.http.post(INSTANCES, json=body))
    assert ended["error"]["errors"][0]["code"] == "IP_SPACE_EXHAUSTED_WITH_DETAILS"


def test_a_reserved_address_goes_to_the_instance_and_back(vpc: Any) -> None:
    address = f"{ROOT}/regions/us-west4/addresses"
    body = {"name": "fixed", "addressType": "INTERNAL", "subnetwork": SUBNETWORK, "address": "10.200.0.77"}
    vpc.done(vpc.http.post(address, json=body))
    shown = _made(vpc, networkInterfaces=[{"subnetwork": SUBNETWORK, "networkIP": "10.200.0.77"}])
    fixed = vpc.http.get(f"{address}/fixed").json()
    assert (fixed["status"], fixed["users"]) == ("IN_USE", [shown["selfLink"]])
    assert vpc.http.delete(f"{address}/fixed").status_code == 400
    vpc.done(vpc.http.delete(f"{INSTANCES}/bastion"))
    assert vpc.http.get(f"{address}/fixed").json()["status"] == "RESERVED"
    vpc.done(vpc.http.delete(f"{address}/fixed"))
    assert vpc.cloud.addresses.holders(SUBNETWORK) == {}


def test_an_external_address_lets_the_host_out_by_itself(vpc: Any) -> None:
    shown = _made(vpc, networkInterfaces=[{"subnetwork": SUBNETWORK, "accessConfigs": [{"type": "ONE_TO_ONE_NAT"}]}])
    assert shown["networkInterfaces"][0]["accessConfigs"][0]["natIP"].startswith("198.51.100.")
    assert vpc.cloud.hosts.specs[KEY].nat is True


def test_tags_move_the_host_between_rules(vpc: Any) -> None:
    fingerprint = _made(vpc)["tags"]["fingerprint"]
    change = {"items": ["jump"], "fingerprint": fingerprint}
    vpc.done(vpc.http.post(f"{INSTANCES}/bastion/setTags", json=change))
    assert vpc.cloud.hosts.specs[KEY].tags == ("jump",)
    assert vpc.http.post(f"{INSTANCES}/bastion/setTags", json=change).status_code == 412


def test_metadata_and_labels_change_under_their_fingerprints(vpc: Any) -> None:
    before = _made(vpc)
    change = {"items": [{"key": "a", "value": "b"}], "fingerprint": before["metadata"]["fingerprint"]}
    vpc.done(vpc.http.post(f"{INSTANCES}/bastion/setMetadata", json=change))
    assert vpc.http.post(f"{INSTANCES}/bastion/setMetadata", json=change).status_code == 412
    labels = {"labels": {"x": "y"}, "labelFingerprint": before["labelFingerprint"]}
    vpc.done(vpc.http.post(f"{INSTANCES}/bastion/setLabels", json=labels))
    assert vpc.http.post(f"{INSTANCES}/bastion/setLabels", json=labels).status_code == 412
    after = vpc.http.get(f"{INSTANCES}/bastion").json()
    assert (after["metadata"]["items"], after["labels"]) == (change["items"], {"x": "y"})


def test_a_protected_instance_is_not_deleted(vpc: Any) -> None:
    _made(vpc, deletionProtection=True)
    assert "protected against deletion" in _message(vpc.http.delete(f"{INSTANCES}/bastion"))
    off = vpc.http.post(f"{INSTANCES}/bastion/setDeletionProtection", params={"deletionProtection": "false"})
    vpc.done(off)
    vpc.done(vpc.http.delete(f"{INSTANCES}/bastion"))


def test_guest_attributes_are_read_by_path_and_by_key(vpc: Any) -> None:
    _made(vpc)
    address = f"{INSTANCES}/bastion/getGuestAttributes"
    assert vpc.http.get(address, params={"queryPath": "hostkeys/"}).status_code == 404
    vpc.cloud.put_guest_attribute("10.200.0.2", "hostkeys", "ssh-ed25519", "AAAA")
    found = vpc.http.get(address, params={"queryPath": "hostkeys/"}).json()["queryValue"]["items"]
    assert found == [{"namespace": "hostkeys", "key": "ssh-ed25519", "value": "AAAA"}]
    assert vpc.http.get(address, params={"variableKey": "hostkeys/ssh-ed25519"}).json()["variableValue"] == "AAAA"


def test_the_metadata_server_shows_the_instance_as_it_is_now(vpc: Any) -> None:
    account = {"email": "default", "scopes": ["https://www.googleapis.com/auth/cloud-platform"]}
    _made(vpc, serviceAccounts=[account])
    root = "/compute/v1/projects/demo-proj/setCommonInstanceMetadata"
    vpc.done(vpc.http.post(root, json={"items": [{"key": "shared", "value": "yes"}]}))
    tree = vpc.cloud.metadata_of("10.200.0.2")
    instance = tree["instance"]
    assert (instance["name"], instance["hostname"]) == ("bastion", "bastion.us-west4-a.c.demo-proj.internal")
    assert instance["attributes"] == {"ssh-keys": "nixie:ssh-ed25519 AAAA nixie"}
    assert instance["network-interfaces"][0]["ip"] == "10.200.0.2"
    token = instance["service-accounts"]["default"]["token"]["access_token"]
    assert vpc.cloud.tokens.caller(token) == f"{vpc.cloud.project_number}-compute@developer.gserviceaccount.com"
    assert tree["project"]["attributes"] == {"shared": "yes"}
    assert vpc.cloud.metadata_of("10.200.0.3") is None


def test_serial_output_says_that_it_is_not_emulated(vpc: Any) -> None:
    _made(vpc)
    answer = vpc.http.get(f"{INSTANCES}/bastion/serialPort")
    assert answer.status_code == 501
    assert "compute.instances.getSerialPortOutput" in _message(answer)
