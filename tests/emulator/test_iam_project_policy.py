"""The project and its IAM policy in Resource Manager v1 and v3."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

PROJECT = "/v1/projects/demo-proj"
ACCOUNTS = f"{PROJECT}/serviceAccounts"
EMAIL = "pod-sa@demo-proj.iam.gserviceaccount.com"
BINDING = {"role": "roles/logging.logWriter", "members": [f"serviceAccount:{EMAIL}"]}


@pytest.fixture
def account(client: httpx.Client) -> httpx.Client:
    """A client to a project that has the service account pod-sa."""
    client.post(ACCOUNTS, json={"accountId": "pod-sa"})
    return client


def _read(client: httpx.Client, version: str = "v1") -> dict[str, Any]:
    policy: dict[str, Any] = client.post(f"/{version}/projects/demo-proj:getIamPolicy", json={}).json()
    return policy


def test_a_binding_written_in_v1_is_read_in_v3(account: httpx.Client) -> None:
    policy = {"bindings": [BINDING], "etag": _read(account)["etag"]}
    written = account.post(f"{PROJECT}:setIamPolicy", json={"policy": policy}).json()
    assert written["bindings"] == [BINDING]
    assert _read(account, "v3") == written


def test_a_write_on_a_stale_etag_is_a_conflict_and_changes_nothing(account: httpx.Client) -> None:
    stale = _read(account)
    account.post(f"{PROJECT}:setIamPolicy", json={"policy": {"bindings": [BINDING], "etag": stale["etag"]}})
    answer = account.post(f"{PROJECT}:setIamPolicy", json={"policy": {"bindings": [], "etag": stale["etag"]}})
    assert (answer.status_code, answer.json()["error"]["status"]) == (409, "ABORTED")
    assert _read(account)["bindings"] == [BINDING]


def test_an_account_that_does_not_exist_cannot_be_bound(client: httpx.Client) -> None:
    answer = client.post(f"{PROJECT}:setIamPolicy", json={"policy": {"bindings": [BINDING]}})
    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == f"Service account {EMAIL} does not exist."


def test_a_deleted_account_stays_in_the_policy_as_deleted_and_its_successor_inherits_nothing(
    account: httpx.Client,
) -> None:
    account.post(f"{PROJECT}:setIamPolicy", json={"policy": {"bindings": [BINDING]}})
    unique_id = account.get(f"{ACCOUNTS}/{EMAIL}").json()["uniqueId"]
    before = _read(account)["etag"]
    account.delete(f"{ACCOUNTS}/{EMAIL}")
    tombstone = f"deleted:serviceAccount:{EMAIL}?uid={unique_id}"
    account.post(ACCOUNTS, json={"accountId": "pod-sa"})
    assert _read(account)["bindings"] == [{**BINDING, "members": [tombstone]}]
    assert _read(account)["etag"] != before
    assert account.get(f"{ACCOUNTS}/{EMAIL}").json()["uniqueId"] != unique_id


def test_permissions_are_all_granted_and_wildcards_refused(client: httpx.Client) -> None:
    wanted = {"permissions": ["tpu.nodes.create", "compute.networks.create"]}
    assert client.post(f"{PROJECT}:testIamPermissions", json=wanted).json() == wanted
    refused = client.post("/v3/projects/demo-proj:testIamPermissions", json={"permissions": ["tpu.*"]})
    assert refused.status_code == 400


def test_the_project_is_shown_in_both_versions(client: httpx.Client) -> None:
    first, third = client.get(PROJECT).json(), client.get("/v3/projects/demo-proj").json()
    assert (first["projectId"], first["lifecycleState"]) == ("demo-proj", "ACTIVE")
    assert (third["name"], third["state"]) == (f"projects/{first['projectNumber']}", "ACTIVE")
    assert client.get("/v1/projects/somebody-else").status_code == 403
