"""A NAT gateway, which is an entry of its router: every change is a PATCH of the router's whole list."""

import threading
from collections.abc import Mapping
from typing import Any

from rehearsal.provider.api import Answer
from rehearsal.provider.errors import GoogleApiError, ProviderError
from rehearsal.provider.kinds import Update
from rehearsal.provider.lifecycle import Edit, Lifecycle

# Read, change, write: one at a time for each router.
_locks: dict[str, threading.Lock] = {}
_UNCHANGEABLE = ("name", "initialNatIps", "endpointTypes", "type")


class RouterNat(Lifecycle):
    """`gcp:compute/routerNat:RouterNat`."""

    def _send_creation(self, inputs: Mapping[str, Any], scope: Mapping[str, str], timeout: float) -> Answer:
        with self._lock(scope):
            try:
                others = self._nats(scope)
                if any(nat.get("name") == scope["name"] for nat in others):
                    raise ProviderError(f"Unable to create RouterNat, existing object already found: {scope['name']}")
                return self._patch(scope, [*others, self.creation_body(inputs, scope)], timeout)
            except GoogleApiError as error:
                raise ProviderError(f"Error creating RouterNat: {error}") from error

    def fetch(self, scope: Mapping[str, str]) -> Answer | None:
        router = super().fetch(scope)
        for nat in (router or {}).get("nats") or []:
            if nat.get("name") == scope["name"]:
                return dict(nat)
        return None

    def send_update(self, update: Update, edit: Edit) -> None:
        scope = edit.scope
        with self._lock(scope):
            nats = self._nats(scope)
            index = next((i for i, nat in enumerate(nats) if nat.get("name") == scope["name"]), None)
            if index is None:
                raise ProviderError("not found in list")
            kept = {name: nats[index][name] for name in _UNCHANGEABLE if name in nats[index]}
            nats[index] = {**self.update_body(update, edit), **kept}
            answer = self._patch(scope, nats, edit.timeout)
        self.wait(scope, answer, "Updating RouterNat", edit.timeout)

    def send_deletion(
        self,
        properties: Mapping[str, Any],  # noqa: ARG002 derived types use it
        scope: Mapping[str, str],
        timeout: float | None,
    ) -> None:
        with self._lock(scope):
            try:
                nats = self._nats(scope)
                others = [nat for nat in nats if nat.get("name") != scope["name"]]
                if len(others) == len(nats):
                    return
                answer = self._patch(scope, others, timeout)
            except GoogleApiError as error:
                if error.code == 404:
                    return
                raise ProviderError(f"Error when reading or editing RouterNat: {error}") from error
        self.wait(scope, answer, "Deleting RouterNat", timeout)

    def _lock(self, scope: Mapping[str, str]) -> threading.Lock:
        return _locks.setdefault(self.kind.own_path.format(**scope), threading.Lock())

    def _nats(self, scope: Mapping[str, str]) -> list[Answer]:
        return list(self.api.request("GET", self.url(self.kind.own_path, scope)).get("nats") or [])

    def _patch(self, scope: Mapping[str, str], nats: list[Answer], timeout: float | None) -> Answer:
        url = self.url(self.kind.own_path, scope)
        return self.api.request("PATCH", url, {"nats": nats}, timeout=timeout or self.kind.timeout)
