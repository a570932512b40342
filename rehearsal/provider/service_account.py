"""A service account: made at once, but not known everywhere at once, so it is read until it is there three times."""

from collections.abc import Mapping
from typing import Any

from rehearsal.provider.api import Answer
from rehearsal.provider.bodies import Body
from rehearsal.provider.errors import GoogleApiError, ProviderError
from rehearsal.provider.kinds import Update
from rehearsal.provider.lifecycle import Edit, Found, Half, Lifecycle
from rehearsal.provider.values import Properties

# The official plugin waits ten seconds more on top of the three reads; the emulator needs no such time.
_READS = 3
_BETWEEN_READS = 0.05
_FIELDS = {"displayName": "display_name", "description": "description"}


class ServiceAccount(Lifecycle):
    """`gcp:serviceaccount/account:Account`."""

    def creation_body(self, inputs: Mapping[str, Any], scope: Mapping[str, str]) -> Body:  # noqa: ARG002
        account = {name: inputs[name] for name in _FIELDS if inputs.get(name)}
        return {"accountId": inputs["accountId"], "serviceAccount": account}

    def _send_creation(self, inputs: Mapping[str, Any], scope: Mapping[str, str], timeout: float) -> Answer:
        try:
            return self.api.request(
                "POST", self.url(self.kind.collection, scope), self.creation_body(inputs, scope), timeout=timeout
            )
        except GoogleApiError as error:
            if error.code == 409 and inputs.get("createIgnoreAlreadyExists"):
                email = f"{inputs['accountId']}@{scope['project']}.iam.gserviceaccount.com"
                return {"email": email, "name": f"projects/{scope['project']}/serviceAccounts/{email}"}
            raise ProviderError(f"Error creating service account: {error}") from error

    def scope(self, properties: Mapping[str, Any]) -> dict[str, str]:
        # The address of an account that is still to be made is known from its id.
        made = super().scope({"email": "", **properties})
        if not made["email"]:
            made["email"] = f"{properties.get('accountId', '')}@{made['project']}.iam.gserviceaccount.com"
        return made

    def identity(self, scope: Mapping[str, str], answer: Answer) -> str:
        return str(answer.get("name") or super().identity(scope, answer))

    def _first_read(self, scope: Mapping[str, str], answer: Answer, known: Properties) -> Found:
        scope = {**scope, "email": answer["email"]}
        found: Properties | None = None
        try:
            seen = 0
            while seen < _READS:
                if seen or found is not None:
                    self.api.wait(_BETWEEN_READS)
                found = self.get(scope, known)
                seen = seen + 1 if found else 0
        except ProviderError as error:
            raise Half(Found(self.identity(scope, answer), known), str(error)) from error
        assert found is not None
        return Found(self.identity(scope, answer), found)

    def get(self, scope: Mapping[str, str], known: Mapping[str, Any]) -> Properties | None:
        answer = self.fetch(scope)
        if answer is None:
            return None
        email = str(answer.get("email", scope["email"]))
        own = {name: known[name] for name in self.kind.own_properties if name in known}
        return {
            **own,
            "accountId": email.split("@")[0],
            "deletionPolicy": known.get("deletionPolicy", "DELETE"),
            "description": answer.get("description", ""),
            "disabled": bool(answer.get("disabled", False)),
            "displayName": answer.get("displayName", ""),
            "email": email,
            "member": f"serviceAccount:{email}",
            "name": answer.get("name", ""),
            "project": answer.get("projectId", scope["project"]),
            "uniqueId": answer.get("uniqueId", ""),
        }

    def send_update(self, update: Update, edit: Edit) -> None:  # noqa: ARG002 one request holds all
        url = self.url(self.kind.own_path, edit.scope)
        etag = (self.fetch(edit.scope) or {}).get("etag")
        if "disabled" in edit.changed:
            self.api.request("POST", url + (":disable" if edit.inputs.get("disabled") else ":enable"), {})
        mask = [field for name, field in _FIELDS.items() if name in edit.changed]
        if mask:
            account: Body = {name: edit.inputs.get(name, "") for name in _FIELDS}
            if etag:
                account["etag"] = etag
            self.api.request("PATCH", url, {"serviceAccount": account, "updateMask": ",".join(mask)})
