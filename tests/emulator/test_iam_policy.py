"""IAM policies are merged, guarded by their etag, and bind only who exists."""

from __future__ import annotations

from typing import Any

import pytest

from rehearsal.emulator.errors import ApiError
from rehearsal.emulator.services import iam_policy

POD = "pod-sa@p.iam.gserviceaccount.com"
OTHER = "other@p.iam.gserviceaccount.com"


def _set(wanted: dict[str, Any], current: dict[str, Any] | None = None, mask: str | None = None) -> dict[str, Any]:
    return iam_policy.updated(
        current or {}, wanted, etag=iam_policy.etag_of(1), mask=mask, account_exists=lambda mail: mail == POD
    )


def _binding(role: str, *members: str) -> dict[str, Any]:
    return {"role": role, "members": list(members)}


def test_bindings_of_one_role_become_one_and_empty_ones_go() -> None:
    policy = _set(
        {
            "bindings": [
                _binding("roles/viewer", "user:b@example.com"),
                _binding("roles/logging.logWriter"),
                _binding("roles/viewer", "user:a@example.com", "user:b@example.com"),
            ]
        }
    )
    assert policy["bindings"] == [_binding("roles/viewer", "user:a@example.com", "user:b@example.com")]
    assert policy["version"] == 1


def test_a_stale_etag_is_a_conflict_that_asks_for_the_whole_cycle_again() -> None:
    current = _set({"bindings": [_binding("roles/viewer", f"serviceAccount:{POD}")], "etag": iam_policy.EMPTY_ETAG})
    with pytest.raises(ApiError, match="concurrent policy changes") as refused:
        _set({"bindings": [], "etag": iam_policy.EMPTY_ETAG}, current)
    assert refused.value.http_code == 409


def test_a_write_without_an_etag_wins_as_on_google() -> None:
    current = _set({"bindings": [_binding("roles/viewer", f"serviceAccount:{POD}")]})
    assert "bindings" not in _set({}, current)


@pytest.mark.parametrize(
    ("binding", "words"),
    [
        (_binding("roles/viewer", f"serviceAccount:{OTHER}"), f"Service account {OTHER} does not exist."),
        (_binding("roles/viewer", POD), "unknown type"),
        (_binding("roles/viewer", "serviceAccount:"), "unknown type"),
        (_binding("roles/viewer", "allUsers"), "allUsers cannot be bound"),
        (_binding("viewer", f"serviceAccount:{POD}"), "Role viewer is not supported"),
    ],
)
def test_who_or_what_does_not_exist_cannot_be_bound(binding: dict[str, Any], words: str) -> None:
    with pytest.raises(ApiError) as refused:
        _set({"bindings": [binding]})
    assert words in str(refused.value)


def test_a_condition_needs_version_3() -> None:
    conditional = {**_binding("roles/viewer", f"serviceAccount:{POD}"), "condition": {"expression": "true"}}
    with pytest.raises(ApiError, match="version must be 3"):
        _set({"bindings": [conditional], "version": 1})
    assert _set({"bindings": [conditional], "version": 3})["version"] == 3


def test_bindings_stay_where_the_mask_leaves_them_out() -> None:
    current = _set({"bindings": [_binding("roles/viewer", f"serviceAccount:{POD}")]})
    assert _set({"bindings": []}, current, mask="auditConfigs")["bindings"] == current["bindings"]


def test_a_deleted_account_leaves_a_tombstone_that_may_be_written_back() -> None:
    current = _set({"bindings": [_binding("roles/viewer", f"serviceAccount:{POD}", "user:a@example.com")]})
    after = iam_policy.with_account_deleted(current, POD, "123")
    tombstone = f"deleted:serviceAccount:{POD}?uid=123"
    assert after["bindings"] == [_binding("roles/viewer", tombstone, "user:a@example.com")]
    assert _set(after, after)["bindings"] == after["bindings"]
