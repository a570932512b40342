"""IAM policies: what a client may write, what becomes of it, and how two writers are kept apart.

Sources: the `Policy` schema of Resource Manager's discovery document,
https://cloud.google.com/iam/docs/reference/rest/v1/Policy, and the refusals quoted in
pulumi/pulumi-google-native#862 (etag) and GoogleCloudPlatform/generative-ai#944 (members).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rehearsal.emulator.errors import ApiError

EMPTY_ETAG = "ACAB"
"""The etag of a policy that nobody has written yet."""

_ROLE = re.compile(r"roles/[a-zA-Z0-9_.]{1,100}|(?:projects|organizations)/[a-z0-9.:-]+/roles/[a-zA-Z0-9_.]{3,64}")
_MAIL = r"[^\s@:?]+@[^\s@:?]+\.[^\s@:?]+"
_PLAIN_MEMBER = re.compile(rf"(?:user|group|serviceAccount):{_MAIL}|domain:[a-z0-9.-]+\.[a-z]+|principal(?:Set)?://\S+")
_DELETED_MEMBER = re.compile(rf"deleted:(?:user|group|serviceAccount):{_MAIL}\?uid=\d+")
_EVERYBODY = {"allUsers", "allAuthenticatedUsers"}
_ACCOUNT = "serviceAccount:"
_FIELDS = {"bindings", "etag", "auditConfigs", "version"}


def updated(
    current: Mapping[str, Any],
    wanted: Mapping[str, Any],
    *,
    etag: str,
    mask: str | None = None,
    account_exists: Callable[[str], bool],
) -> dict[str, Any]:
    """The policy after setIamPolicy: `wanted` over `current`, with its new `etag`.

    `mask` is the request's updateMask (default: bindings and etag). `account_exists` answers for the mail
    of a service account. Raises ApiError 409 on a stale etag, 400 on what Google does not take.
    """
    _check_etag(current, wanted)
    fields = {field.strip() for field in (mask or "bindings,etag").split(",")}
    if unknown := fields - _FIELDS:
        raise _bad(f"Invalid update mask path: {min(unknown)}")
    policy = {key: value for key, value in current.items() if key not in ("etag", "version")}
    if "bindings" in fields:
        version = wanted.get("version", 1)
        bindings = normalised(wanted.get("bindings", ()), version=version, account_exists=account_exists)
        policy["bindings"] = bindings
        policy["version"] = 3 if any("condition" in binding for binding in bindings) else 1
    else:
        policy["version"] = current.get("version", 1)
    if "auditConfigs" in fields:
        policy["auditConfigs"] = list(wanted.get("auditConfigs", ()))
    return {**{key: value for key, value in policy.items() if value != []}, "etag": etag}


def normalised(
    bindings: Iterable[Mapping[str, Any]], *, version: int, account_exists: Callable[[str], bool]
) -> list[dict[str, Any]]:
    """Bindings as Google keeps them: one for each role and condition, sorted, without empty ones."""
    if version not in (0, 1, 3):
        raise _bad(f"Invalid policy version {version}: must be 0, 1 or 3.")
    merged: dict[tuple[str, str], dict[str, Any]] = {}
    for binding in bindings:
        role, condition = binding.get("role", ""), binding.get("condition")
        if not _ROLE.fullmatch(role):
            raise _bad(f"Role {role} is not supported for this resource.")
        if condition and version != 3:
            raise _bad("Policy version must be 3 when conditional role bindings are used.")
        for member in binding.get("members", ()):
            _check_member(member, account_exists)
        kept = merged.setdefault((role, repr(condition)), {"role": role, "members": set(), "condition": condition})
        kept["members"].update(binding.get("members", ()))
    return [
        {
            "role": kept["role"],
            "members": sorted(kept["members"]),
            **({"condition": dict(kept["condition"])} if kept["condition"] else {}),
        }
        for _, kept in sorted(merged.items())
        if kept["members"]
    ]


def with_account_deleted(policy: Mapping[str, Any], email: str, unique_id: str) -> dict[str, Any]:
    """The policy after a service account's end: its bindings stay, under deleted:serviceAccount:...?uid=...

    Source: https://cloud.google.com/iam/docs/policies#handle-deleted-members. A new account of the same mail
    does not inherit them.
    """
    before, after = f"{_ACCOUNT}{email}", f"deleted:{_ACCOUNT}{email}?uid={unique_id}"
    bindings = [
        {**binding, "members": sorted(after if member == before else member for member in binding["members"])}
        for binding in policy.get("bindings", ())
    ]
    return {**policy, "bindings": bindings} if bindings else dict(policy)


def etag_of(counter: int) -> str:
    """An etag in Google's form (eight bytes, base64) for the `counter`-th writing of a policy."""
    return base64.b64encode(b"\x07" + counter.to_bytes(7, "big")).decode()


def _check_etag(current: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    theirs, ours = wanted.get("etag"), current.get("etag", EMPTY_ETAG)
    if not theirs:
        return
    try:
        # Clients may send either base64 alphabet.
        same = base64.b64decode(theirs, altchars=b"-_" if set(theirs) & set("-_") else None, validate=True)
    except (binascii.Error, ValueError):
        raise _bad(f"Invalid value at 'policy.etag' (TYPE_BYTES), Base64 decoding failed for \"{theirs}\"") from None
    if same != base64.b64decode(ours):
        raise ApiError(
            409,
            "There were concurrent policy changes. Please retry the whole read-modify-write with exponential "
            f"backoff. The request's ETag '{theirs}' did not match the current policy's ETag '{ours}'.",
            status="ABORTED",
            reason="aborted",
        )


def _check_member(member: str, account_exists: Callable[[str], bool]) -> None:
    if member in _EVERYBODY:
        raise _bad(f"The member {member} cannot be bound on this resource.")
    if _DELETED_MEMBER.fullmatch(member):
        return
    if not _PLAIN_MEMBER.fullmatch(member):
        raise _bad(f"The member {member} is of an unknown type. Please set a valid type prefix for the member.")
    if member.startswith(_ACCOUNT) and not account_exists(member.removeprefix(_ACCOUNT)):
        raise _bad(f"Service account {member.removeprefix(_ACCOUNT)} does not exist.")


def _bad(message: str) -> ApiError:
    return ApiError(400, message, status="INVALID_ARGUMENT", reason="badRequest")
