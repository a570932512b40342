"""IAM v1: service accounts. Their keys cannot be made here: no private key belongs in a rehearsal."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from datetime import datetime, timedelta

from rehearsal.emulator.clock import rfc3339
from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.errors import ApiError, not_found
from rehearsal.emulator.handlers import Call, Json, operation
from rehearsal.emulator.messages import camel_case
from rehearsal.emulator.paging import page
from rehearsal.emulator.services import iam_accounts, iam_policies_stored

_ACCOUNT_ID = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_ID_LENGTH = range(6, 31)
_PATCHABLE = {"displayName", "description"}
_LONGEST = {"displayName": 100, "description": 256}
_DEFAULT = "The accounts that Google makes by itself exist (they can be bound) but are not listed."


@operation(
    "iam.projects.serviceAccounts.create",
    checked="recorded pulumi-gcp, gcloud, google-api-python-client",
    differs="Google's accounts take some seconds to be seen everywhere.",
)
async def create_account(call: Call, cloud: Cloud) -> Json:
    _check_project(call.path["name"], cloud)
    account_id = call.body.get("accountId", "")
    if len(account_id) not in _ID_LENGTH:
        raise _invalid(f'The account ID "{account_id}" does not have a length between 6 and 30.')
    if not _ACCOUNT_ID.fullmatch(account_id):
        raise _invalid(f'The account ID "{account_id}" is not valid: it must match {_ACCOUNT_ID.pattern}.')
    given = call.body.get("serviceAccount", {})
    _check_lengths(given)
    email = iam_accounts.email_of(cloud, account_id)
    name = iam_accounts.name_of(cloud, email)
    if cloud.store.get(name) is not None:
        raise ApiError(
            409,
            f"Service account {account_id} already exists within project projects/{cloud.project}.",
            details=[{"@type": "type.googleapis.com/google.rpc.ResourceInfo", "resourceName": name}],
        )
    document: Json = {
        "email": email,
        "uniqueId": f"1{secrets.randbelow(10**20):020d}",
        "displayName": given.get("displayName", ""),
        "description": given.get("description", ""),
        "disabled": False,
        "created": cloud.clock.timestamp(),
    }
    cloud.store.insert(iam_accounts.KIND, name, document)
    return _shown(cloud, name, document)


@operation("iam.projects.serviceAccounts.get", checked="recorded pulumi-gcp", differs=_DEFAULT)
async def get_account(call: Call, cloud: Cloud) -> Json:
    name, document = _find(call.path["name"], cloud)
    return _shown(cloud, name, document)


@operation("iam.projects.serviceAccounts.list", checked="google-api-python-client", differs=_DEFAULT)
async def list_accounts(call: Call, cloud: Cloud) -> Json:
    _check_project(call.path["name"], cloud)
    found = [_shown(cloud, name, document) for name, document in cloud.store.list(iam_accounts.KIND)]
    return page(call, "accounts", found)


@operation("iam.projects.serviceAccounts.patch")
async def patch_account(call: Call, cloud: Cloud) -> Json:
    name, document = _find(call.path["name"], cloud)
    mask = [camel_case(field.strip()) for field in call.body.get("updateMask", "").split(",") if field.strip()]
    if not mask or set(mask) - _PATCHABLE:
        raise _invalid(f"The update mask must name some of {', '.join(sorted(_PATCHABLE))}, and nothing else.")
    given = call.body.get("serviceAccount", {})
    return _change(cloud, name, document, given, {field: given.get(field, "") for field in mask})


@operation("iam.projects.serviceAccounts.update")
async def update_account(call: Call, cloud: Cloud) -> Json:
    name, document = _find(call.path["name"], cloud)
    given = {field: call.body[field] for field in _PATCHABLE if field in call.body}
    return _change(cloud, name, document, call.body, given)


@operation("iam.projects.serviceAccounts.delete", checked="recorded pulumi-gcp, gcloud, google-api-python-client")
async def delete_account(call: Call, cloud: Cloud) -> Json:
    name, document = _find(call.path["name"], cloud)
    with cloud.store.transaction():
        cloud.store.delete(name)
        iam_policies_stored.drop(cloud, name)
        iam_policies_stored.bury(cloud, document["email"], document["uniqueId"])
    return {}


@operation("iam.projects.serviceAccounts.disable", differs="A disabled account's tokens go on working.")
async def disable_account(call: Call, cloud: Cloud) -> Json:
    name, _ = _find(call.path["name"], cloud)
    cloud.store.update(name, disabled=True)
    return {}


@operation("iam.projects.serviceAccounts.enable")
async def enable_account(call: Call, cloud: Cloud) -> Json:
    name, _ = _find(call.path["name"], cloud)
    cloud.store.update(name, disabled=False)
    return {}


@operation("iam.projects.serviceAccounts.getIamPolicy")
async def get_account_policy(call: Call, cloud: Cloud) -> Json:
    name, _ = _find(call.path["resource"], cloud)
    return iam_policies_stored.read(cloud, name)


@operation("iam.projects.serviceAccounts.setIamPolicy", differs="The names of predefined roles are not checked.")
async def set_account_policy(call: Call, cloud: Cloud) -> Json:
    name, _ = _find(call.path["resource"], cloud)
    return iam_policies_stored.write(cloud, name, call.body)


@operation("iam.projects.serviceAccounts.testIamPermissions", differs="Every caller is an owner.")
async def test_account_permissions(call: Call, cloud: Cloud) -> Json:
    _find(call.path["resource"], cloud)
    return iam_policies_stored.permissions(call.body)


@operation("iam.projects.serviceAccounts.keys.list", differs="Only Google's own key; user-managed keys are refused.")
async def list_account_keys(call: Call, cloud: Cloud) -> Json:
    name, document = _find(call.path["name"], cloud)
    if "SYSTEM_MANAGED" not in call.query.get("keyTypes", ["SYSTEM_MANAGED"]):
        return {}
    created = datetime.fromisoformat(document["created"])
    return {
        "keys": [
            {
                "name": f"{name}/keys/{int(document['uniqueId']):040x}",
                "keyAlgorithm": "KEY_ALG_RSA_2048",
                "keyOrigin": "GOOGLE_PROVIDED",
                "keyType": "SYSTEM_MANAGED",
                "validAfterTime": rfc3339(created),
                "validBeforeTime": rfc3339(created + timedelta(days=730)),
            }
        ]
    }


@operation(
    "iam.projects.serviceAccounts.keys.create",
    checked="gcloud",
    differs="Always refused, as under Google's own constraint.",
)
async def create_account_key(call: Call, cloud: Cloud) -> Json:
    name, _ = _find(call.path["name"], cloud)
    raise ApiError(
        400,
        "Key creation is not allowed on this service account.",
        status="FAILED_PRECONDITION",
        reason="failedPrecondition",
        details=[
            {
                "@type": "type.googleapis.com/google.rpc.PreconditionFailure",
                "violations": [
                    {
                        "type": "constraints/iam.disableServiceAccountKeyCreation",
                        "subject": f"{name}?configvalue={name.rsplit('/', 1)[-1]}",
                        "description": "Key creation is not allowed on this service account.",
                    }
                ],
            }
        ],
    )


def _change(cloud: Cloud, name: str, document: Json, given: Json, fields: Json) -> Json:
    _check_lengths(fields)
    if given.get("etag") and given["etag"] != _etag(document):
        raise ApiError(
            409,
            "There were concurrent changes to the service account. Please retry the whole read-modify-write with "
            "exponential backoff.",
            status="ABORTED",
            reason="aborted",
        )
    return _shown(cloud, name, cloud.store.update(name, **fields) or document)


def _check_project(parent: str, cloud: Cloud) -> None:
    project = parent.removeprefix("projects/")
    if project not in (cloud.project, cloud.project_number):
        raise ApiError(
            403,
            f"Permission denied on resource project {project}.",
            details=[
                {
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                    "reason": "CONSUMER_INVALID",
                    "domain": "googleapis.com",
                    "metadata": {"consumer": f"projects/{project}", "service": "iam.googleapis.com"},
                }
            ],
        )


def _find(path: str, cloud: Cloud) -> tuple[str, Json]:
    """The account that projects/P/serviceAccounts/{mail or unique id} names; the project may be "-"."""
    _, project, _, account = path.split("/", 3)
    if project != "-":
        _check_project(f"projects/{project}", cloud)
    found = iam_accounts.find(cloud, account)
    if found is None:
        raise not_found("Unknown service account")
    return found


def _check_lengths(given: Json) -> None:
    for field, most in _LONGEST.items():
        if len(given.get(field, "").encode()) > most:
            raise _invalid(f"The {field} of a service account has {most} bytes at most.")


def _shown(cloud: Cloud, name: str, document: Json) -> Json:
    shown: Json = {
        "name": name,
        "projectId": cloud.project,
        "uniqueId": document["uniqueId"],
        "email": document["email"],
        "oauth2ClientId": document["uniqueId"],
        "etag": _etag(document),
    }
    # Google leaves out what is empty or false.
    optional = ("displayName", "description", "disabled")
    return shown | {field: document[field] for field in optional if document[field]}


def _etag(document: Json) -> str:
    text = f"{document['displayName']}\0{document['description']}\0{document['disabled']}"
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()


def _invalid(message: str) -> ApiError:
    return ApiError(400, message, status="INVALID_ARGUMENT", reason="badRequest")
