"""IAM policies of resources: read, written with Google's rules, and rid of accounts that are deleted."""

from __future__ import annotations

from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.errors import ApiError
from rehearsal.emulator.handlers import Json
from rehearsal.emulator.services import iam_accounts, iam_policy

KIND = "iam.policy"


def read(cloud: Cloud, resource: str) -> Json:
    """The policy of a resource ("projects/P"), as getIamPolicy shows it."""
    stored = cloud.store.get(_name(resource))
    return dict(stored["policy"]) if stored else {"version": 1, "etag": iam_policy.EMPTY_ETAG}


def write(cloud: Cloud, resource: str, request: Json) -> Json:
    """What setIamPolicy does and answers; raises ApiError 409 on a stale etag, 400 on what Google refuses."""
    if "policy" not in request:
        raise ApiError(400, "Invalid value at 'policy': a policy is required.", status="INVALID_ARGUMENT")
    stored = cloud.store.get(_name(resource)) or {"writes": 0, "policy": read(cloud, resource)}
    writes = stored["writes"] + 1
    policy = iam_policy.updated(
        stored["policy"],
        request["policy"],
        etag=_etag(cloud, writes),
        mask=request.get("updateMask"),
        account_exists=lambda email: iam_accounts.exists(cloud, email),
    )
    cloud.store.put(KIND, _name(resource), {"writes": writes, "policy": policy})
    return policy


def bury(cloud: Cloud, email: str, unique_id: str) -> None:
    """Turn a deleted account's bindings in every policy into those of a deleted member."""
    for name, stored in cloud.store.list(KIND):
        policy = iam_policy.with_account_deleted(stored["policy"], email, unique_id)
        if policy != stored["policy"]:
            writes = stored["writes"] + 1
            cloud.store.put(KIND, name, {"writes": writes, "policy": {**policy, "etag": _etag(cloud, writes)}})


def drop(cloud: Cloud, resource: str) -> None:
    """Forget the policy of a resource that is gone."""
    cloud.store.delete(_name(resource))


def permissions(request: Json) -> Json:
    """testIamPermissions for an owner of the project: all that are asked for."""
    asked = list(request.get("permissions", ()))
    wild = next((permission for permission in asked if "*" in permission or permission.count(".") < 2), None)
    if wild is not None:
        raise ApiError(400, f"Permission {wild} is not valid for this resource.", status="INVALID_ARGUMENT")
    return {"permissions": asked} if asked else {}


def _name(resource: str) -> str:
    return f"{resource}/iamPolicy"


def _etag(cloud: Cloud, writes: int) -> str:
    # The moment keeps a policy that is made anew from repeating the etags of the one before it.
    return iam_policy.etag_of(int(cloud.clock.now().timestamp() * 1000) * 1000 + writes % 1000)
