"""Routers and their NATs, over HTTP: a NAT lets the subnetwork's hosts out, and clashes are refused."""

from __future__ import annotations

from typing import Any

import pytest

from rehearsal.emulator.services.compute import host_network

ROUTERS = "/compute/beta/projects/demo-proj/regions/us-west4/routers"
SUBNETWORK = "projects/demo-proj/regions/us-west4/subnetworks/sub"
EVERYBODY = {"name": "nat", "sourceSubnetworkIpRangesToNat": "ALL_SUBNETWORKS_ALL_IP_RANGES"}
LISTED = {
    "name": "nat",
    "sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS",
    "subnetworks": [{"name": "sub", "sourceIpRangesToNat": ["ALL_IP_RANGES"]}],
}


@pytest.fixture
def routed(vpc: Any) -> Any:
    """A cloud whose network has the router "rt"."""
    vpc.done(vpc.http.post(ROUTERS, json={"name": "rt", "network": "global/networks/net", "bgp": None}))
    return vpc


@pytest.mark.parametrize("nat", [EVERYBODY, LISTED])
def test_a_nat_serves_the_subnetwork_until_it_is_taken_away(routed: Any, nat: dict[str, Any]) -> None:
    assert not host_network.has_nat(routed.cloud, SUBNETWORK)
    routed.done(routed.http.patch(f"{ROUTERS}/rt", json={"nats": [nat]}))
    assert host_network.has_nat(routed.cloud, SUBNETWORK)
    routed.done(routed.http.patch(f"{ROUTERS}/rt", json={"nats": []}))
    assert not host_network.has_nat(routed.cloud, SUBNETWORK)
    assert "nats" not in routed.http.get(f"{ROUTERS}/rt").json()


def test_a_nat_of_a_running_subnetwork_reaches_the_hosts_machinery(routed: Any) -> None:
    routed.cloud.addresses.allocate(SUBNETWORK, "10.200.0.0/24", ["projects/demo-proj/zones/us-west4-a/instances/x"])
    routed.run(host_network.prepare(routed.cloud, SUBNETWORK))
    assert routed.cloud.hosts.subnetworks[SUBNETWORK].nat is False
    routed.done(routed.http.patch(f"{ROUTERS}/rt", json={"nats": [EVERYBODY]}))
    assert routed.cloud.hosts.subnetworks[SUBNETWORK].nat is True


def test_a_nat_is_shown_with_googles_defaults(routed: Any) -> None:
    routed.done(routed.http.patch(f"{ROUTERS}/rt", json={"nats": [LISTED]}))
    nat = routed.http.get(f"{ROUTERS}/rt").json()["nats"][0]
    assert nat["subnetworks"][0]["name"] == f"{routed.endpoint}/compute/beta/{SUBNETWORK}"
    assert (nat["natIpAllocateOption"], nat["type"], nat["udpIdleTimeoutSec"]) == ("AUTO_ONLY", "PUBLIC", 30)


@pytest.mark.parametrize(
    ("nats", "words"),
    [
        ([EVERYBODY, {**EVERYBODY, "name": "second"}], "a Nat with option ALL_SUBNETWORKS_ALL_IP_RANGES exists"),
        ([LISTED, {**LISTED, "name": "second"}], "already configured with ALL_IP_RANGES"),
        ([LISTED, LISTED], "already used by another NAT"),
        ([{**EVERYBODY, "name": "Nat"}], "'resource.nats[0].name': 'Nat'"),
        ([{"name": "nat"}], "sourceSubnetworkIpRangesToNat' not specified"),
        ([{**LISTED, "subnetworks": []}], "Subnetworks must be given"),
        ([{**LISTED, "subnetworks": [{"name": "no", "sourceIpRangesToNat": ["ALL_IP_RANGES"]}]}], "cannot be found"),
        ([{**EVERYBODY, "natIpAllocateOption": "MANUAL_ONLY"}], "MANUAL_ONLY"),
    ],
)
def test_a_nat_that_google_would_refuse_is_refused(routed: Any, nats: list[dict[str, Any]], words: str) -> None:
    answer = routed.http.patch(f"{ROUTERS}/rt", json={"nats": nats})
    assert answer.status_code == 400
    assert words in answer.json()["error"]["message"]


def test_two_routers_cannot_both_serve_every_subnetwork(routed: Any) -> None:
    routed.done(routed.http.patch(f"{ROUTERS}/rt", json={"nats": [EVERYBODY]}))
    body = {"name": "second", "network": "global/networks/net", "nats": [EVERYBODY]}
    answer = routed.http.post(ROUTERS, json=body)
    assert "Can not create new Nats" in answer.json()["error"]["message"]


def test_a_listed_subnetwork_cannot_go_before_its_nat(routed: Any) -> None:
    routed.done(routed.http.patch(f"{ROUTERS}/rt", json={"nats": [LISTED]}))
    refused = routed.http.delete(f"/compute/v1/{SUBNETWORK}")
    assert "used by 'projects/demo-proj/regions/us-west4/routers/rt'" in refused.json()["error"]["message"]


def test_bgp_sessions_say_that_they_are_not_emulated(routed: Any) -> None:
    answer = routed.http.patch(f"{ROUTERS}/rt", json={"bgpPeers": [{"name": "peer"}]})
    assert answer.status_code == 501
