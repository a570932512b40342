"""An emulator that died and came back: operations, queues and hosts are taken up again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from emulated_cloud import PROJECT, Live, make_cloud, serve

ZONE = f"/v2alpha1/projects/{PROJECT}/locations/us-west4-a"
BODY = {
    "acceleratorType": "v5litepod-16",
    "runtimeVersion": "v2-alpha-tpuv5-lite",
    "networkConfig": {"subnetwork": "sub"},
}
Until = Callable[[Callable[[], Any]], Any]


@contextmanager
def life(file: Path) -> Iterator[Live]:
    """One life of the emulator whose state is in a file. Settings are those that were stored."""
    cloud = make_cloud(file)
    if cloud.store.fact("settings") is not None:
        cloud.settings = cloud._stored_settings()
    served = serve(cloud)
    try:
        yield next(served)
    finally:
        served.close()


def make_vpc(cloud: Live) -> None:
    root = f"/compute/v1/projects/{PROJECT}"
    cloud.done(cloud.http.post(f"{root}/global/networks", json={"name": "net", "autoCreateSubnetworks": False}))
    subnetwork = {"name": "sub", "network": "global/networks/net", "ipCidrRange": "10.200.0.0/24"}
    cloud.done(cloud.http.post(f"{root}/regions/us-west4/subnetworks", json=subnetwork))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "emulator.sqlite"


def test_a_creation_that_was_running_ends_in_the_next_life(file: Path) -> None:
    with life(file) as first:
        make_vpc(first)
        first.http.patch("/_emulator/settings", json={"timings": {"node_create": 600}})
        creation = first.http.post(f"{ZONE}/nodes?nodeId=pod", json=BODY)
        assert first.http.get(f"{ZONE}/nodes/pod").json()["state"] == "CREATING"
    with life(file) as second:
        assert second.http.get(f"{ZONE}/nodes/pod").json()["state"] == "CREATING"
        second.http.patch("/_emulator/settings", json={"timings": {"node_create": 0}})
    with life(file) as third:
        address = f"/v2/{creation.json()['name']}"
        operation = third.done(third.http.get(address))
        assert operation["response"]["state"] == "READY"
        assert len(operation["response"]["networkEndpoints"]) == 4


def test_a_deletion_that_was_running_ends_in_the_next_life(file: Path) -> None:
    with life(file) as first:
        make_vpc(first)
        first.done(first.http.post(f"{ZONE}/nodes?nodeId=pod", json=BODY))
        first.http.patch("/_emulator/settings", json={"timings": {"node_delete": 600}})
        deletion = first.http.delete(f"{ZONE}/nodes/pod")
        first.http.patch("/_emulator/settings", json={"timings": {"node_delete": 0}})
    with life(file) as second:
        second.done(second.http.get(f"/v2/{deletion.json()['name']}"))
        assert second.http.get(f"{ZONE}/nodes/pod").status_code == 404


def test_a_queue_goes_on_in_the_next_life(file: Path, until: Until) -> None:
    with life(file) as first:
        make_vpc(first)
        first.http.patch("/_emulator/settings", json={"capacity": {"*": 0}})
        parent = f"projects/{PROJECT}/locations/us-west4-a"
        body = {"tpu": {"nodeSpec": [{"parent": parent, "nodeId": "n", "node": BODY}]}}
        first.done(first.http.post(f"{ZONE}/queuedResources?queuedResourceId=qr", json=body))
    with life(file) as second:
        second.http.patch("/_emulator/settings", json={"capacity": {"*": 16}})
        until(lambda: second.http.get(f"{ZONE}/queuedResources/qr").json()["state"]["state"] == "ACTIVE")


def test_ready_nodes_stay_ready_and_keep_their_addresses(file: Path) -> None:
    with life(file) as first:
        make_vpc(first)
        first.done(first.http.post(f"{ZONE}/nodes?nodeId=pod", json=BODY))
        before = first.http.get(f"{ZONE}/nodes/pod").json()
    with life(file) as second:
        assert second.http.get(f"{ZONE}/nodes/pod").json() == before
        assert len(second.run(second.cloud.hosts.states())) == 4


def test_an_operation_whose_work_nobody_knows_any_more_ends_with_a_clear_error(file: Path) -> None:
    cloud = make_cloud(file)
    name = f"projects/{PROJECT}/locations/us-west4-a/operations/old"
    now = cloud.clock.timestamp()
    cloud.store.insert(
        "operation",
        name,
        {
            "style": "tpu",
            "version": "v2",
            "target": "t",
            "verb": "create",
            "work": "tpu.node.from_the_past",
            "args": {},
            "status": "RUNNING",
            "created": now,
            "user": "u",
        },
    )
    cloud.store.close()
    with life(file) as second:
        error = second.done(second.http.get(f"/v2/{name}"))["error"]
        assert (error["code"], "ask again" in error["message"]) == (10, True)


def test_a_preemption_timer_counts_the_time_in_which_no_emulator_ran(file: Path, until: Until) -> None:
    with life(file) as first:
        make_vpc(first)
        first.http.patch("/_emulator/settings", json={"faults": {"preempt_after": 1.5}})
        spot = {**BODY, "schedulingConfig": {"spot": True}}
        first.done(first.http.post(f"{ZONE}/nodes?nodeId=pod", json=spot))
    with life(file) as second:
        began = time.monotonic()
        until(lambda: second.http.get(f"{ZONE}/nodes/pod").json()["state"] == "PREEMPTED")
        assert time.monotonic() - began < 1.5
