"""Networks and subnetworks, over HTTP: what is made is shown, what Google refuses is refused in its words."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

ROOT = "/compute/v1/projects/demo-proj"
NETWORKS = f"{ROOT}/global/networks"
SUBNETWORKS = f"{ROOT}/regions/us-west4/subnetworks"
SUBNETWORK = {"name": "other", "network": "global/networks/net", "ipCidrRange": "10.1.0.0/24"}


def _refusal(answer: httpx.Response) -> tuple[int, str, str]:
    error = answer.json()["error"]
    return answer.status_code, error["errors"][0]["reason"], error["message"]


def test_a_network_is_shown_with_googles_defaults_and_its_subnetworks(vpc: Any) -> None:
    network = vpc.http.get(f"{NETWORKS}/net").json()
    assert network["kind"] == "compute#network"
    assert network["selfLink"] == f"{vpc.endpoint}{NETWORKS}/net"
    assert network["subnetworks"] == [f"{vpc.endpoint}{SUBNETWORKS}/sub"]
    assert network["routingConfig"] == {"routingMode": "REGIONAL"}
    assert network["networkFirewallPolicyEnforcementOrder"] == "AFTER_CLASSIC_FIREWALL"
    assert network["id"].isdecimal()


def test_an_operation_points_at_what_it_made(live: Any) -> None:
    began = live.http.post(NETWORKS, json={"name": "net", "autoCreateSubnetworks": False}).json()
    network = live.http.get(f"{NETWORKS}/net").json()
    assert began["kind"] == "compute#operation"
    assert (began["operationType"], began["targetLink"]) == ("insert", network["selfLink"])
    assert began["targetId"] == network["id"]
    assert live.http.get(began["selfLink"]).json()["status"] == "DONE"


def test_beta_shows_the_same_network_with_its_own_urls(vpc: Any) -> None:
    network = vpc.http.get("/compute/beta/projects/demo-proj/global/networks/net").json()
    assert network["subnetworks"] == [
        f"{vpc.endpoint}/compute/beta/projects/demo-proj/regions/us-west4/subnetworks/sub"
    ]


def test_a_name_that_is_taken_is_a_conflict(vpc: Any) -> None:
    answer = vpc.http.post(NETWORKS, json={"name": "net", "autoCreateSubnetworks": False})
    expected = "The resource 'projects/demo-proj/global/networks/net' already exists"
    assert _refusal(answer) == (409, "alreadyExists", expected)


@pytest.mark.parametrize("name", ["Net", "1net", "net-", "a" * 64, "n_t", "nét"])
def test_a_name_that_google_would_refuse_is_refused(client: httpx.Client, name: str) -> None:
    code, reason, message = _refusal(client.post(NETWORKS, json={"name": name, "autoCreateSubnetworks": False}))
    assert (code, reason) == (400, "invalid")
    assert message.startswith(f"Invalid value for field 'resource.name': '{name}'. Must be a match of regex")


def test_a_network_that_is_not_there_is_not_found(client: httpx.Client) -> None:
    expected = "The resource 'projects/demo-proj/global/networks/no' was not found"
    assert _refusal(client.get(f"{NETWORKS}/no")) == (404, "notFound", expected)
    assert _refusal(client.delete(f"{NETWORKS}/no")) == (404, "notFound", expected)


def test_another_project_is_not_found(client: httpx.Client) -> None:
    assert client.get("/compute/v1/projects/somebody-else/global/networks").status_code == 404


def test_a_network_with_a_subnetwork_cannot_go_and_the_message_names_who_uses_it(vpc: Any) -> None:
    assert _refusal(vpc.http.delete(f"{NETWORKS}/net")) == (
        400,
        "resourceInUseByAnotherResource",
        "The network resource 'projects/demo-proj/global/networks/net' is already being used by "
        "'projects/demo-proj/regions/us-west4/subnetworks/sub'",
    )


@pytest.mark.parametrize("collection", ["global/firewalls", "regions/us-west4/routers"])
def test_a_network_cannot_go_before_its_firewalls_and_routers(live: Any, collection: str) -> None:
    live.done(live.http.post(NETWORKS, json={"name": "net", "autoCreateSubnetworks": False}))
    body: dict[str, Any] = {"name": "user", "network": "global/networks/net"}
    if collection.endswith("firewalls"):
        body["allowed"] = [{"IPProtocol": "tcp"}]
    live.done(live.http.post(f"{ROOT}/{collection}", json=body))
    assert f"used by 'projects/demo-proj/{collection}/user'" in _refusal(live.http.delete(f"{NETWORKS}/net"))[2]
    live.done(live.http.delete(f"{ROOT}/{collection}/user"))
    live.done(live.http.delete(f"{NETWORKS}/net"))
    assert live.http.get(f"{NETWORKS}/net").status_code == 404


def test_an_auto_mode_network_has_a_subnetwork_in_every_region_and_takes_them_along(live: Any) -> None:
    live.done(live.http.post(NETWORKS, json={"name": "auto", "autoCreateSubnetworks": True}))
    regions = live.http.get(f"{ROOT}/regions").json()["items"]
    assert len(live.http.get(f"{NETWORKS}/auto").json()["subnetworks"]) == len(regions)
    automatic = live.http.get(f"{ROOT}/regions/us-west4/subnetworks/auto").json()
    assert (automatic["ipCidrRange"], automatic["gatewayAddress"]) == ("10.182.0.0/20", "10.182.0.1")
    refused = live.http.delete(f"{ROOT}/regions/us-west4/subnetworks/auto")
    assert "Cannot delete auto subnetwork" in _refusal(refused)[2]
    live.done(live.http.delete(f"{NETWORKS}/auto"))
    assert live.http.get(f"{ROOT}/regions/us-west4/subnetworks").json().get("items") is None


def test_a_subnetwork_is_shown_whole(vpc: Any) -> None:
    shown = vpc.http.get(f"{SUBNETWORKS}/sub").json()
    assert shown["network"] == f"{vpc.endpoint}{NETWORKS}/net"
    assert shown["region"] == f"{vpc.endpoint}{ROOT}/regions/us-west4"
    assert (shown["ipCidrRange"], shown["gatewayAddress"]) == ("10.200.0.0/24", "10.200.0.1")
    assert (shown["purpose"], shown["stackType"]) == ("PRIVATE", "IPV4_ONLY")
    assert shown["privateIpGoogleAccess"] is False
    assert shown["fingerprint"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ipCidrRange": "10.200.0.128/25"}, "conflicts with existing subnetwork 'sub' in region 'us-west4'"),
        ({"ipCidrRange": "169.254.0.0/24"}, "conflicts with reserved IP range 169.254.0.0/16"),
        ({"ipCidrRange": "10.1.0.0/30"}, "too small"),
        ({"ipCidrRange": "10.1.0.1/24"}, "'resource.ipCidrRange': '10.1.0.1/24'"),
        ({"ipCidrRange": None}, "Required field 'resource.ipCidrRange' not specified"),
        ({"network": "global/networks/no"}, "The referenced network resource cannot be found."),
        ({"network": None}, "Required field 'resource.network' not specified"),
        ({"region": "projects/demo-proj/global/regions/us-east1"}, "'resource.region'"),
        (
            {"secondaryIpRanges": [{"rangeName": "pods", "ipCidrRange": "10.1.0.0/25"}]},
            "'resource.secondaryIpRanges[0]",
        ),
    ],
)
def test_a_subnetwork_that_google_would_refuse_is_refused(vpc: Any, change: dict[str, Any], words: str) -> None:
    code, _, message = _refusal(vpc.http.post(SUBNETWORKS, json={**SUBNETWORK, **change}))
    assert code == 400
    assert words in message
    assert vpc.http.get(f"{SUBNETWORKS}/other").status_code == 404


def test_two_networks_may_use_one_range(vpc: Any) -> None:
    vpc.done(vpc.http.post(NETWORKS, json={"name": "second", "autoCreateSubnetworks": False}))
    body = {**SUBNETWORK, "network": "global/networks/second", "ipCidrRange": "10.200.0.0/24"}
    assert "error" not in vpc.done(vpc.http.post(SUBNETWORKS, json=body))


def test_an_unknown_region_is_refused_naming_it(vpc: Any) -> None:
    refused = vpc.http.post(f"{ROOT}/regions/us-north9/subnetworks", json=SUBNETWORK)
    assert _refusal(refused)[2] == "Invalid value for field 'region': 'us-north9'. Unknown region."


def test_a_subnetwork_grows_and_never_shrinks(vpc: Any) -> None:
    grow = f"{SUBNETWORKS}/sub/expandIpCidrRange"
    vpc.done(vpc.http.post(grow, json={"ipCidrRange": "10.200.0.0/20"}))
    assert vpc.http.get(f"{SUBNETWORKS}/sub").json()["ipCidrRange"] == "10.200.0.0/20"
    assert "superset" in _refusal(vpc.http.post(grow, json={"ipCidrRange": "10.200.0.0/21"}))[2]


def test_a_patch_needs_the_fingerprint_of_now(vpc: Any) -> None:
    address = f"{SUBNETWORKS}/sub"
    before = vpc.http.get(address).json()["fingerprint"]
    change = {"privateIpGoogleAccess": True, "fingerprint": before}
    assert "Required field 'resource.fingerprint'" in _refusal(vpc.http.patch(address, json={}))[2]
    vpc.done(vpc.http.patch(address, json=change))
    assert vpc.http.get(address).json()["privateIpGoogleAccess"] is True
    assert _refusal(vpc.http.patch(address, json=change))[:2] == (412, "conditionNotMet")


def test_a_patch_cannot_move_a_subnetwork(vpc: Any) -> None:
    fingerprint = vpc.http.get(f"{SUBNETWORKS}/sub").json()["fingerprint"]
    answer = vpc.http.patch(f"{SUBNETWORKS}/sub", json={"ipCidrRange": "10.9.0.0/24", "fingerprint": fingerprint})
    assert "cannot be changed" in _refusal(answer)[2]


def test_lists_filter_page_and_aggregate(vpc: Any) -> None:
    for number in range(3):
        body = {**SUBNETWORK, "name": f"s{number}", "ipCidrRange": f"10.{number}.0.0/24"}
        vpc.done(vpc.http.post(SUBNETWORKS, json=body))
    first = vpc.http.get(SUBNETWORKS, params={"maxResults": 2}).json()
    second = vpc.http.get(SUBNETWORKS, params={"maxResults": 2, "pageToken": first["nextPageToken"]}).json()
    assert [one["name"] for one in first["items"] + second["items"]] == ["s0", "s1", "s2", "sub"]
    assert "nextPageToken" not in second
    chosen = vpc.http.get(SUBNETWORKS, params={"filter": 'name eq "s[12]"'}).json()
    assert [one["name"] for one in chosen["items"]] == ["s1", "s2"]
    everywhere = vpc.http.get(f"{ROOT}/aggregated/subnetworks").json()["items"]
    assert len(everywhere["regions/us-west4"]["subnetworks"]) == 4
    assert everywhere["regions/us-east1"]["warning"]["code"] == "NO_RESULTS_ON_PAGE"


def test_the_same_request_id_makes_one_network(live: Any) -> None:
    body = {"name": "net", "autoCreateSubnetworks": False}
    request = {"requestId": "0b54ab8e-6a9e-4b39-8f40-7d3a3d3f4a5c"}
    first = live.http.post(NETWORKS, params=request, json=body)
    again = live.http.post(NETWORKS, params=request, json=body)
    assert (again.status_code, again.json()["name"]) == (200, first.json()["name"])
    assert live.http.post(NETWORKS, params={"requestId": "x"}, json=body).status_code == 400


def test_peerings_say_that_they_are_not_emulated(vpc: Any) -> None:
    answer = vpc.http.post(f"{NETWORKS}/net/addPeering", json={"name": "p"})
    assert answer.status_code == 501
    assert "compute.networks.addPeering" in answer.json()["error"]["message"]
