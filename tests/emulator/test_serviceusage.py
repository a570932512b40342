"""Enabled services: what is not enabled refuses every request, as on Google."""

from __future__ import annotations

import httpx

SERVICES = "/v1/projects/demo-proj/services"
NETWORKS = "/compute/v1/projects/demo-proj/global/networks"


def _enabled(client: httpx.Client) -> set[str]:
    answer = client.get(
        f"/su{SERVICES}", params={"filter": "state:ENABLED", "pageSize": 200, "fields": "services/name"}
    )
    return {one["name"].rsplit("/", 1)[-1] for one in answer.json()["services"]}


def test_compute_tpu_and_iam_are_enabled_at_first(client: httpx.Client) -> None:
    assert {"compute.googleapis.com", "tpu.googleapis.com", "iam.googleapis.com"} <= _enabled(client)
    assert "file.googleapis.com" not in _enabled(client)


def test_a_disabled_api_refuses_requests_and_says_how_to_enable_it(client: httpx.Client) -> None:
    disable = f"{SERVICES}/compute.googleapis.com:disable"
    assert client.post(disable, json={"disableDependentServices": True}).json()["done"] is True
    answer = client.get(NETWORKS)
    error = answer.json()["error"]
    assert answer.status_code == 403
    assert error["message"].startswith("Compute Engine API has not been used in project")
    assert error["details"][0]["reason"] == "SERVICE_DISABLED"
    client.post(f"{SERVICES}/compute.googleapis.com:enable", json={})
    assert client.get(NETWORKS).status_code == 200


def test_a_service_that_another_needs_is_not_disabled_alone(client: httpx.Client) -> None:
    answer = client.post(f"{SERVICES}/compute.googleapis.com:disable", json={})
    assert (answer.status_code, answer.json()["error"]["status"]) == (400, "FAILED_PRECONDITION")
    assert "tpu.googleapis.com" in answer.json()["error"]["message"]


def test_enabling_brings_what_is_needed_and_its_operation_can_be_read(client: httpx.Client) -> None:
    client.post(f"{SERVICES}/compute.googleapis.com:disable", json={"disableDependentServices": True})
    began = client.post(f"{SERVICES}/tpu.googleapis.com:enable", json={}).json()
    assert began["response"]["service"]["state"] == "ENABLED"
    assert client.get(f"/v1/{began['name']}").json() == began
    assert {"compute.googleapis.com", "tpu.googleapis.com"} <= _enabled(client)


def test_enabling_what_is_enabled_changes_nothing_and_says_so(client: httpx.Client) -> None:
    began = client.post(f"{SERVICES}/tpu.googleapis.com:enable", json={}).json()
    assert began["name"] == "operations/noop.DONE_OPERATION"


def test_several_are_enabled_at_once_or_none(client: httpx.Client) -> None:
    batch = f"{SERVICES}:batchEnable"
    refused = client.post(batch, json={"serviceIds": ["file.googleapis.com", "nope.googleapis.com"]})
    assert refused.status_code == 403
    assert "nope.googleapis.com" in refused.json()["error"]["message"]
    assert "file.googleapis.com" not in _enabled(client)
    client.post(batch, json={"serviceIds": ["file.googleapis.com", "storage.googleapis.com"]})
    assert {"file.googleapis.com", "storage.googleapis.com"} <= _enabled(client)
