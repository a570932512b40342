"""Service accounts, over HTTP."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

ACCOUNTS = "/v1/projects/demo-proj/serviceAccounts"
EMAIL = "pod-sa@demo-proj.iam.gserviceaccount.com"


def _made(client: httpx.Client, **account: str) -> dict[str, Any]:
    answer = client.post(ACCOUNTS, json={"accountId": "pod-sa", "serviceAccount": account})
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = answer.json()
    return made


def test_an_account_is_shown_as_it_was_made(client: httpx.Client) -> None:
    made = _made(client, displayName="pod")
    assert made["email"] == EMAIL
    assert made["name"] == f"projects/demo-proj/serviceAccounts/{EMAIL}"
    assert len(made["uniqueId"]) == 21
    assert client.get(f"{ACCOUNTS}/{EMAIL}").json() == made
    assert client.get(f"/v1/projects/-/serviceAccounts/{made['uniqueId']}").json() == made
    assert client.get(f"/iam{ACCOUNTS}").json() == {"accounts": [made]}


def test_an_id_that_is_taken_is_a_conflict_that_names_the_account(client: httpx.Client) -> None:
    _made(client)
    answer = client.post(ACCOUNTS, json={"accountId": "pod-sa"})
    error = answer.json()["error"]
    assert (answer.status_code, error["status"]) == (409, "ALREADY_EXISTS")
    assert error["message"] == "Service account pod-sa already exists within project projects/demo-proj."


@pytest.mark.parametrize("account_id", ["short", "a" * 31, "Pod-account", "1podaccount", "pod-account-", ""])
def test_an_id_that_google_would_refuse_is_refused(client: httpx.Client, account_id: str) -> None:
    answer = client.post(ACCOUNTS, json={"accountId": account_id})
    assert (answer.status_code, answer.json()["error"]["status"]) == (400, "INVALID_ARGUMENT")


def test_an_account_that_is_not_there_is_not_found(client: httpx.Client) -> None:
    for answer in (client.get(f"{ACCOUNTS}/{EMAIL}"), client.delete(f"{ACCOUNTS}/{EMAIL}")):
        assert (answer.status_code, answer.json()["error"]["message"]) == (404, "Unknown service account")


def test_a_patch_changes_what_its_mask_names(client: httpx.Client) -> None:
    _made(client, displayName="pod", description="kept")
    body = {"serviceAccount": {"displayName": "new", "description": "ignored"}, "updateMask": "display_name"}
    client.patch(f"{ACCOUNTS}/{EMAIL}", json=body)
    shown = client.get(f"{ACCOUNTS}/{EMAIL}").json()
    assert (shown["displayName"], shown["description"]) == ("new", "kept")
    body["updateMask"] = "email"
    assert client.patch(f"{ACCOUNTS}/{EMAIL}", json=body).status_code == 400


def test_an_update_with_a_stale_etag_is_a_conflict(client: httpx.Client) -> None:
    stale = _made(client, displayName="pod")["etag"]
    assert client.put(f"{ACCOUNTS}/{EMAIL}", json={"displayName": "new", "etag": stale}).status_code == 200
    assert client.put(f"{ACCOUNTS}/{EMAIL}", json={"displayName": "newer", "etag": stale}).status_code == 409


def test_no_key_of_an_account_can_be_made_here(client: httpx.Client) -> None:
    _made(client)
    answer = client.post(f"{ACCOUNTS}/{EMAIL}/keys", json={})
    assert (answer.status_code, answer.json()["error"]["status"]) == (400, "FAILED_PRECONDITION")
    assert "Key creation is not allowed" in answer.json()["error"]["message"]
    assert client.get(f"{ACCOUNTS}/{EMAIL}/keys", params={"keyTypes": "USER_MANAGED"}).json() == {}


def test_an_undelete_says_that_it_is_not_emulated(client: httpx.Client) -> None:
    answer = client.post(f"{ACCOUNTS}/{EMAIL}:undelete", json={})
    assert answer.status_code == 501
    assert "iam.projects.serviceAccounts.undelete" in answer.json()["error"]["message"]


def test_an_account_can_be_disabled_and_enabled(client: httpx.Client) -> None:
    _made(client)
    client.post(f"{ACCOUNTS}/{EMAIL}:disable", json={})
    assert client.get(f"{ACCOUNTS}/{EMAIL}").json()["disabled"] is True
    client.post(f"{ACCOUNTS}/{EMAIL}:enable", json={})
    assert "disabled" not in client.get(f"{ACCOUNTS}/{EMAIL}").json()


def test_an_account_has_a_policy_of_its_own(client: httpx.Client) -> None:
    _made(client)
    binding = {"role": "roles/iam.serviceAccountUser", "members": ["user:nixie@example.com"]}
    client.post(f"{ACCOUNTS}/{EMAIL}:setIamPolicy", json={"policy": {"bindings": [binding]}})
    assert client.post(f"{ACCOUNTS}/{EMAIL}:getIamPolicy").json()["bindings"] == [binding]
    assert "bindings" not in client.post("/v1/projects/demo-proj:getIamPolicy", json={}).json()
