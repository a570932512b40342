"""Disks, addresses and what is on offer, over HTTP."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

ROOT = "/compute/v1/projects/demo-proj"
DISKS = f"{ROOT}/zones/us-west4-a/disks"
ADDRESSES = f"{ROOT}/regions/us-west4/addresses"


def _message(answer: httpx.Response) -> str:
    return str(answer.json()["error"]["message"])


def test_a_disk_gets_the_size_and_type_that_google_gives(live: Any) -> None:
    live.done(live.http.post(DISKS, json={"name": "plain", "zone": "projects/demo-proj/global/zones/us-west4-a"}))
    shown = live.http.get(f"{DISKS}/plain").json()
    assert (shown["sizeGb"], shown["status"]) == ("500", "READY")
    assert shown["type"] == f"{live.endpoint}{ROOT}/zones/us-west4-a/diskTypes/pd-standard"


def test_a_disk_only_grows(live: Any) -> None:
    live.done(live.http.post(DISKS, json={"name": "data", "sizeGb": "20"}))
    live.done(live.http.post(f"{DISKS}/data/resize", json={"sizeGb": "30"}))
    assert live.http.get(f"{DISKS}/data").json()["sizeGb"] == "30"
    refused = live.http.post(f"{DISKS}/data/resize", json={"sizeGb": "30"})
    assert "New disk size '30' must be larger than existing size '30'." in _message(refused)


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ({"type": "zones/us-west4-a/diskTypes/pd-fast"}, 400, "The referenced disk type resource cannot be found."),
        ({"sizeGb": "70000"}, 400, "10GB-65536GB"),
        ({"sourceImage": "projects/debian-cloud/global/images/family/debian-7"}, 400, "image resource cannot be found"),
        ({"sourceImage": "global/images/mine"}, 400, "image resource cannot be found"),
        ({"labels": {"k": "UPPER"}}, 400, "'resource.labels': 'UPPER'"),
        ({"sourceSnapshot": "global/snapshots/s"}, 501, "sourceSnapshot"),
    ],
)
def test_a_disk_that_cannot_be_is_refused(client: httpx.Client, change: dict[str, str], code: int, words: str) -> None:
    answer = client.post(DISKS, json={"name": "data", **change})
    assert answer.status_code == code
    assert words in _message(answer)


def test_labels_of_a_disk_change_under_their_fingerprint(live: Any) -> None:
    live.done(live.http.post(DISKS, json={"name": "data", "labels": {"a": "b"}}))
    fingerprint = live.http.get(f"{DISKS}/data").json()["labelFingerprint"]
    change = {"labels": {}, "labelFingerprint": fingerprint}
    live.done(live.http.post(f"{DISKS}/data/setLabels", json=change))
    shown = live.http.get(f"{DISKS}/data").json()
    assert "labels" not in shown
    assert shown["labelFingerprint"] == "42WmSpB8rSM="


def test_external_addresses_differ_and_are_given_back(live: Any) -> None:
    for name in ("one", "two"):
        live.done(live.http.post(ADDRESSES, json={"name": name}))
    found = {one["address"] for one in live.http.get(ADDRESSES).json()["items"]}
    assert len(found) == 2
    for name in ("one", "two"):
        live.done(live.http.delete(f"{ADDRESSES}/{name}"))
    assert live.cloud.addresses.holders("external") == {}


@pytest.mark.parametrize("address", ["10.200.0.1", "10.200.0.255", "10.9.0.1", "ten"])
def test_an_internal_address_that_cannot_be_had_is_refused(vpc: Any, address: str) -> None:
    body = {"name": "a", "addressType": "INTERNAL", "subnetwork": "sub", "address": address}
    answer = vpc.http.post(ADDRESSES, json=body)
    assert answer.status_code == 400
    assert f"'resource.address': '{address}'" in _message(answer)


def test_an_image_family_leads_to_its_newest_image(client: httpx.Client) -> None:
    root = "/compute/v1/projects/debian-cloud/global/images"
    newest = client.get(f"{root}/family/debian-12").json()
    assert newest["family"] == "debian-12"
    assert client.get(f"{root}/{newest['name']}").json() == newest
    assert client.get(f"{root}/family/debian-7").status_code == 404


def test_every_zone_is_of_a_region_that_lists_it(client: httpx.Client) -> None:
    regions = {one["selfLink"]: one["zones"] for one in client.get(f"{ROOT}/regions").json()["items"]}
    zones = client.get(f"{ROOT}/zones").json()["items"]
    assert all(zone["selfLink"] in regions[zone["region"]] for zone in zones)
    assert {"us-west4-a", "us-central2-b", "us-central1-ai1a"} <= {zone["name"] for zone in zones}
    assert client.get(f"{ROOT}/zones/us-west4-z").status_code == 404


def test_machine_and_disk_types_are_listed_by_zone(client: httpx.Client) -> None:
    zone = f"{ROOT}/zones/us-west4-a"
    assert client.get(f"{zone}/machineTypes/e2-micro").json()["memoryMb"] == 1024
    assert client.get(f"{zone}/machineTypes/e9-huge").status_code == 404
    assert "pd-balanced" in {one["name"] for one in client.get(f"{zone}/diskTypes").json()["items"]}


def test_the_project_is_found_by_id_and_by_number(live: Any) -> None:
    project = live.http.get(ROOT).json()
    assert project == {**live.http.get(f"/compute/v1/projects/{project['id']}").json()}
    assert project["defaultServiceAccount"].startswith(project["id"])
