"""The official gcp plugin's recorded requests, TPU part, replayed against the emulator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emulated_cloud import Live, recorded_steps

CORE = recorded_steps("official-plugin-core.jsonl")
MORE = recorded_steps("official-plugin-more.jsonl")
PLACE = "/projects/demo-proj/locations/europe-west4-b"


def make_networks(cloud: Live) -> None:
    """The networks of the recording: "net" with "sub", and "default" with its own."""
    root = "/compute/beta/projects/demo-proj"
    for network, subnetwork, cidr in (("net", "sub", "172.21.12.0/24"), ("default", "default", "10.164.0.0/20")):
        body = {"name": network, "autoCreateSubnetworks": False}
        cloud.done(cloud.http.post(f"{root}/global/networks", json=body))
        body = {"name": subnetwork, "network": f"global/networks/{network}", "ipCidrRange": cidr}
        cloud.done(cloud.http.post(f"{root}/regions/europe-west4/subnetworks", json=body))


def send(cloud: Live, request: dict[str, Any]) -> Any:
    """Send one recorded request. The recording's zone is moved to one that offers the type."""
    path = request["path"].replace("europe-west4-a", "europe-west4-b")
    body = request.get("body")
    if body and "tpu" in body:
        for spec in body["tpu"]["nodeSpec"]:
            spec["parent"] = spec["parent"].replace("europe-west4-a", "europe-west4-b")
    answer = cloud.http.request(request["method"], f"{path}?{request['query']}", json=body)
    assert answer.status_code == 200, (request, answer.text)
    if "/operations/" in str(answer.json().get("name", "")):
        operation = cloud.done(answer)
        assert "error" not in operation, operation
        return operation
    return answer.json()


def tpu_requests(steps: dict[str, list[dict[str, Any]]]) -> list[tuple[str, dict[str, Any]]]:
    return [(step, one) for step, sent in steps.items() for one in sent if one["path"].startswith("/v2alpha1/")]


def test_the_recorded_life_of_a_pod_works_request_by_request(live: Live) -> None:
    make_networks(live)
    seen: list[tuple[str, str]] = []
    for step, request in tpu_requests(CORE):
        answer = send(live, request)
        if request["method"] == "GET":
            assert answer["state"] == "READY"
            seen.append((step, f"{answer['acceleratorType']} {answer['labels']['a']} {answer['metadata']['ssh-keys']}"))
    assert [value for _, value in seen] == [
        "v5litepod-16 b nixie:ssh-ed25519 AAA nixie",
        "v5litepod-16 c nixie:ssh-ed25519 AAA nixie",
        "v5litepod-16 c nixie:ssh-ed25519 BBB nixie",
        "v5litepod-32 c nixie:ssh-ed25519 BBB nixie",
        "v5litepod-32 c nixie:ssh-ed25519 BBB nixie",
    ]
    assert live.http.get(f"/v2alpha1{PLACE}/nodes").json() == {}
    assert live.run(live.cloud.hosts.states()) == {}


def test_the_recorded_queued_resource_is_accepted_and_read(live: Live, until: Callable[..., Any]) -> None:
    make_networks(live)
    queued = f"/v2alpha1{PLACE}/queuedResources/qr"
    requests = [one for _, one in tpu_requests(MORE)]
    assert [one["method"] for one in requests] == ["POST", "GET", "GET", "DELETE"]
    for request in requests[:-1]:
        answer = send(live, request)
    assert answer["tpu"]["nodeSpec"][0]["nodeId"] == "n1"
    # The plugin deletes without force, which Google refuses as long as the request holds nodes.
    until(lambda: live.http.get(queued).json()["state"]["state"] == "ACTIVE")
    assert live.http.delete(queued).json()["error"]["status"] == "FAILED_PRECONDITION"
    live.done(live.http.delete(f"/v2alpha1{PLACE}/nodes/n1"))
    send(live, requests[-1])
    assert live.http.get(queued).status_code == 404


def test_the_recordings_zone_refuses_the_type_that_it_does_not_offer(live: Live) -> None:
    make_networks(live)
    create = next(one for _, one in tpu_requests(CORE) if one["method"] == "POST")
    answer = live.http.post(f"{create['path']}?{create['query']}", json=create["body"])
    assert "the accelerator v5litepod-16 was not found in zone europe-west4-a" in answer.json()["error"]["message"]
