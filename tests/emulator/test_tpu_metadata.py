"""What a TPU worker reads from the metadata server, and addresses shared with instances."""

from __future__ import annotations

import re
from typing import Any

import pytest
from emulated_cloud import PROJECT, Live

from rehearsal.emulator.addresses import Addresses, AddressTaken, NoRoom
from rehearsal.emulator.store import Store

ZONE = f"/v2alpha1/projects/{PROJECT}/locations/us-west4-a"


def create(cloud: Live, accelerator_type: str) -> list[str]:
    """Make a node of a type; returns its addresses."""
    body: dict[str, Any] = {
        "acceleratorType": accelerator_type,
        "runtimeVersion": "v2-alpha-tpuv5-lite",
        "networkConfig": {"subnetwork": "sub"},
        "metadata": {"ssh-keys": "nixie:KEY", "startup-script": "true", "agent-worker-number": "9"},
    }
    operation = cloud.done(cloud.http.post(f"{ZONE}/nodes?nodeId=pod", json=body))
    return [end["ipAddress"] for end in operation["response"]["networkEndpoints"]]


def tpu_env(attributes: dict[str, str]) -> dict[str, str]:
    """As JAX reads it: lines of KEY: 'value'."""
    return dict(re.findall(r"^(\w+): '(.*)'$", attributes["tpu-env"], re.MULTILINE))


def test_every_worker_finds_its_number_and_all_members(vpc: Live) -> None:
    addresses = create(vpc, "v5litepod-16")
    for number, address in enumerate(addresses):
        attributes = vpc.cloud.metadata_of(address)["instance"]["attributes"]
        assert attributes["agent-worker-number"] == str(number)
        # jax/_src/clusters/cloud_tpu_cluster.py takes the third part of each endpoint.
        assert [end.split(":")[2] for end in attributes["worker-network-endpoints"].split(",")] == addresses
        assert tpu_env(attributes)["WORKER_ID"] == str(number)
        assert attributes["ssh-keys"] == "nixie:KEY"


@pytest.mark.parametrize(
    ("accelerator_type", "chips", "hosts"),
    [("v5litepod-1", "1,1,1", "1,1,1"), ("v5litepod-8", "2,4,1", "1,1,1"), ("v5litepod-32", "2,2,1", "2,4,1")],
)
def test_the_bounds_multiply_to_the_topology(vpc: Live, accelerator_type: str, chips: str, hosts: str) -> None:
    (first, *_) = create(vpc, accelerator_type)
    env = tpu_env(vpc.cloud.metadata_of(first)["instance"]["attributes"])
    assert (env["CHIPS_PER_HOST_BOUNDS"], env["HOST_BOUNDS"]) == (chips, hosts)
    assert env["ACCELERATOR_TYPE"] == accelerator_type


def test_the_service_accounts_token_is_one_that_the_api_accepts(vpc: Live) -> None:
    (first, *_) = create(vpc, "v5litepod-4")
    account = vpc.cloud.metadata_of(first)["instance"]["service-accounts"]["default"]
    headers = {"Authorization": f"Bearer {account['token']['access_token']}"}
    assert vpc.http.get(f"{ZONE}/nodes/pod", headers=headers).status_code == 200


def test_what_a_worker_publishes_is_read_through_the_api(vpc: Live) -> None:
    addresses = create(vpc, "v5litepod-16")
    for number, address in enumerate(addresses):
        vpc.cloud.put_guest_attribute(address, "hostkeys", "ssh-ed25519", f"KEY{number}")
        vpc.cloud.put_guest_attribute(address, "other", "x", "y")
    address = f"{ZONE}/nodes/pod:getGuestAttributes"
    shown = vpc.http.post(address, json={"queryPath": "hostkeys/"}).json()["guestAttributes"]
    assert [[item["value"] for item in one["queryValue"]["items"]] for one in shown] == [
        [f"KEY{number}"] for number in range(4)
    ]
    one = vpc.http.post(address, json={"queryPath": "other/x", "workerIds": ["2"]}).json()["guestAttributes"]
    assert one[0]["queryValue"]["items"] == [{"namespace": "other", "key": "x", "value": "y"}]
    assert vpc.http.post(address, json={"workerIds": ["4"]}).status_code == 400


def test_a_stranger_has_no_metadata(vpc: Live) -> None:
    assert vpc.cloud.metadata_of("10.9.9.9") is None
    vpc.cloud.put_guest_attribute("10.9.9.9", "a", "b", "c")


def test_addresses_are_handed_out_once_and_googles_own_are_left_alone() -> None:
    addresses = Addresses(Store(":memory:"))
    assert addresses.allocate("s", "10.0.0.0/29", ["a", "b"]) == ["10.0.0.2", "10.0.0.3"]
    assert addresses.allocate("s", "10.0.0.0/29", ["b"]) == ["10.0.0.3"]
    with pytest.raises(NoRoom) as none:
        addresses.allocate("s", "10.0.0.0/29", ["c", "d", "e"])
    assert (none.value.wanted, none.value.free) == (3, 2)
    assert set(addresses.holders("s").values()) == {"a", "b"}
    for taken in ("10.0.0.0", "10.0.0.1", "10.0.0.3", "10.0.0.6", "10.0.0.7", "10.0.1.2"):
        with pytest.raises(AddressTaken):
            addresses.claim("s", "10.0.0.0/29", taken, "c")
    addresses.claim("s", "10.0.0.0/29", "10.0.0.5", "c")
    addresses.release("a")
    assert addresses.allocate("s", "10.0.0.0/29", ["d"]) == ["10.0.0.2"]
    assert addresses.of("c") == "10.0.0.5"
