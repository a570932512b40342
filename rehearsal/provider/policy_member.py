"""One member of one role of a project: a line of the project's policy, which is read, changed and written whole."""

import threading
from collections.abc import Callable, Mapping
from typing import Any

from rehearsal.provider.api import Answer
from rehearsal.provider.errors import GoogleApiError, ProviderError
from rehearsal.provider.lifecycle import Found, Half, Lifecycle
from rehearsal.provider.values import Properties

_VERSION = 3
_READS_AFTER_WRITE = 3
_BETWEEN_READS = 0.05
_locks: dict[str, threading.Lock] = {}

Bindings = list[dict[str, Any]]


class PolicyMember(Lifecycle):
    """`gcp:projects/iAMMember:IAMMember`. Its id is `project/role/member`, and the condition's title if it has one."""

    def create(self, inputs: Mapping[str, Any], timeout: float | None) -> Found:  # noqa: ARG002
        scope = self.scope(inputs)
        self._change(scope, lambda bindings: _with(bindings, inputs))
        identity = self._id(inputs, scope)
        found = self.get(scope, inputs)
        if found is None:
            raise Half(Found(identity, dict(inputs)), f"{identity} was written to the policy and is not there")
        return Found(identity, found)

    def get(self, scope: Mapping[str, str], known: Mapping[str, Any]) -> Properties | None:
        policy = self._policy(scope)
        binding = _binding_of(policy.get("bindings") or [], known)
        if binding is None or known["member"] not in binding["members"]:
            return None
        made: Properties = {name: known[name] for name in ("condition", "member", "role") if name in known}
        return {**made, "project": scope["project"], "etag": policy.get("etag", "")}

    def read(self, identity: str, properties: Mapping[str, Any]) -> Found | None:
        known = properties or self.parse_import(identity)
        found = self.get(self.scope(known), known)
        return None if found is None else Found(self._id(known, self.scope(known)), found)

    def parse_import(self, identity: str) -> Properties:
        parts = identity.replace(" ", "/").split("/")
        if len(parts) < 4 or parts[1] not in ("roles", "projects", "organizations"):
            raise ProviderError(f'Import id "{identity}" is not of the form "project roles/NAME member"')
        # A custom role is itself a path: projects/P/roles/NAME.
        length = 2 if parts[1] == "roles" else 4
        role = "/".join(parts[1 : 1 + length])
        return {"project": parts[0], "role": role, "member": "/".join(parts[1 + length :])}

    def delete(self, identity: str, properties: Mapping[str, Any], timeout: float | None) -> None:  # noqa: ARG002
        scope = self.scope(properties)
        self._change(scope, lambda bindings: _without(bindings, properties))
        self.get(scope, properties)

    def _id(self, known: Mapping[str, Any], scope: Mapping[str, str]) -> str:
        title = (known.get("condition") or {}).get("title")
        return "/".join(filter(None, [scope["project"], known["role"], known["member"], title]))

    def _policy(self, scope: Mapping[str, str]) -> Answer:
        body = {"options": {"requestedPolicyVersion": _VERSION}}
        try:
            return self.api.request("POST", self.url("projects/{project}:getIamPolicy", scope), body)
        except GoogleApiError as error:
            raise ProviderError(f'Error retrieving IAM policy for project "{scope["project"]}": {error}') from error

    def _change(self, scope: Mapping[str, str], change: Callable[[Bindings], Bindings]) -> None:
        """Read, change, write; again from the start where somebody else wrote in between (409)."""
        wait = 1.0
        with _locks.setdefault(scope["project"], threading.Lock()):
            while True:
                policy = self._policy(scope)
                bindings = change(policy.get("bindings") or [])
                policy = {**policy, "bindings": bindings, "version": _VERSION}
                if not bindings:
                    del policy["bindings"]
                try:
                    self.api.request(
                        "POST",
                        self.url("projects/{project}:setIamPolicy", scope),
                        {"policy": policy, "updateMask": "bindings,etag,auditConfigs"},
                    )
                    break
                except GoogleApiError as error:
                    if error.code != 409 or wait > 30:
                        raise ProviderError(
                            f'Error applying IAM policy for project "{scope["project"]}": {error}'
                        ) from error
                self.api.wait(wait)
                wait *= 2
            # Policies spread slowly at Google; the plugin waits until it has read its own change three times.
            for _ in range(_READS_AFTER_WRITE):
                self.api.wait(_BETWEEN_READS)
                self._policy(scope)


def _binding_of(bindings: Bindings, known: Mapping[str, Any]) -> dict[str, Any] | None:
    for binding in bindings:
        if binding.get("role") == known["role"] and (binding.get("condition") or None) == known.get("condition"):
            return binding
    return None


def _with(bindings: Bindings, inputs: Mapping[str, Any]) -> Bindings:
    there = _binding_of(bindings, inputs)
    if there is None:
        made = {"members": [inputs["member"]], "role": inputs["role"]}
        if inputs.get("condition"):
            made["condition"] = inputs["condition"]
        return [*bindings, made]
    if inputs["member"] in there["members"]:
        return bindings
    return [{**b, "members": [*b["members"], inputs["member"]]} if b is there else b for b in bindings]


def _without(bindings: Bindings, known: Mapping[str, Any]) -> Bindings:
    there = _binding_of(bindings, known)
    left = []
    for binding in bindings:
        members = binding.get("members", [])
        if binding is there:
            members = [member for member in members if member != known["member"]]
        if members:
            left.append({**binding, "members": members})
    return left
