"""Create, read, update, delete and import of a resource, as its `Kind` says. Types of a shape of their own derive."""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from rehearsal.provider import diff, labels
from rehearsal.provider.api import Answer, Api
from rehearsal.provider.bodies import Body, body, sent_at_creation
from rehearsal.provider.configuration import Configuration
from rehearsal.provider.errors import Cancelled, GoogleApiError, ProviderError
from rehearsal.provider.kinds import Kind, Update
from rehearsal.provider.operations import wait_for
from rehearsal.provider.scope import scope_of
from rehearsal.provider.states import state
from rehearsal.provider.values import Properties


@dataclass(frozen=True)
class Found:
    """A resource that is there: its id and all its properties."""

    identity: str
    properties: Properties


@dataclass(frozen=True)
class Edit:
    """A change in place: what differs (top-level names), the state, the new inputs, and where the resource lives."""

    changed: frozenset[str]
    old: Mapping[str, Any]
    inputs: Mapping[str, Any]
    scope: Mapping[str, str]
    timeout: float | None


class Half(ProviderError):
    """The resource exists, or soon may, but what was asked was not finished; the state must keep it."""

    def __init__(self, found: Found, reason: str) -> None:
        super().__init__(reason)
        self.found = found


class Lifecycle:
    """A resource type that the table describes in full."""

    def __init__(self, kind: Kind, api: Api, configuration: Configuration) -> None:
        self.kind = kind
        self.api = api
        self.configuration = configuration

    def create(self, inputs: Mapping[str, Any], timeout: float | None) -> Found:
        """Create the resource and wait until it is there.

        Args:
            timeout: seconds, or None for the type's own.

        Raises:
            Half: it was accepted, but the wait was cancelled or the first read failed.
            ProviderError: it was not created.
        """
        scope = self.scope(inputs)
        answer = self._send_creation(inputs, scope, timeout or self.kind.timeout)
        known = {**inputs, **self.identity_properties(scope)}
        try:
            self.wait(scope, answer, f"Creating {self.kind.title}", timeout)
        except Cancelled as error:
            reason = f"{self.kind.title} is still being created: {error}"
            raise Half(Found(self.identity(scope, answer), known), reason) from error
        except ProviderError as error:
            raise ProviderError(f"Error waiting to create {self.kind.title}: {error}") from error
        return self._first_read(scope, answer, known)

    def _first_read(self, scope: Mapping[str, str], answer: Answer, known: Properties) -> Found:
        identity = self.identity(scope, answer)
        try:
            found = self.get(scope, known)
        except ProviderError as error:
            raise Half(Found(identity, known), str(error)) from error
        if found is None:
            raise ProviderError(f"{self.kind.title} {identity!r} was created and is gone")
        return Found(identity, found)

    def _send_creation(self, inputs: Mapping[str, Any], scope: Mapping[str, str], timeout: float) -> Answer:
        try:
            return self.api.request(
                "POST",
                self.url(self.kind.collection, scope),
                self.creation_body(inputs, scope),
                self.kind.create_query.format(**scope),
                timeout,
            )
        except Cancelled:
            raise
        except ProviderError as error:
            raise ProviderError(f"Error creating {self.kind.title}: {error}") from error

    def creation_body(self, inputs: Mapping[str, Any], scope: Mapping[str, str]) -> Body:
        """What a creation posts."""
        properties = dict(inputs)
        if self.kind.labels:
            properties["labels"] = labels.effective_labels(inputs, None)
        return body(self.kind, properties, sent_at_creation(self.kind), self.kind.zeros, scope)

    def read(self, identity: str, properties: Mapping[str, Any]) -> Found | None:
        """The resource as it is now; None when it is gone.

        Args:
            properties: the state so far; empty to import by `identity`, which may be any form that the plugin takes.
        """
        known = properties or self.parse_import(identity)
        scope = self.scope(known)
        found = self.get(scope, known)
        if found is None:
            return None
        return Found(identity if properties else self.identity({**scope, **_texts(found)}, {}), found)

    def get(self, scope: Mapping[str, str], known: Mapping[str, Any]) -> Properties | None:
        """The properties of now, or None when the resource is not there."""
        answer = self.fetch(scope)
        return None if answer is None else state(self.kind, answer, known, scope)

    def fetch(self, scope: Mapping[str, str]) -> Answer | None:
        """The API's object, or None when it is not there."""
        try:
            return self.api.request("GET", self.url(self.kind.own_path, scope), None, self.kind.read_query)
        except GoogleApiError as error:
            if error.code == 404:
                return None
            self._reading(scope, error)

    def _reading(self, scope: Mapping[str, str], error: ProviderError) -> NoReturn:
        raise ProviderError(
            f'Error when reading or editing {self.kind.title} "{self.identity(scope, {})}": {error}'
        ) from error

    def update(self, identity: str, old: Mapping[str, Any], inputs: Mapping[str, Any], timeout: float | None) -> Found:
        """Change the resource in place, request by request, and read it.

        Raises:
            Half: a request failed; what the ones before it did is in the state.
        """
        scope = self.scope({**old, **inputs})
        changed = {change.property_name for change in diff.changes(self.kind, old, inputs)}
        if {"effectiveLabels", "pulumiLabels"} & changed:
            changed = changed - {"effectiveLabels", "pulumiLabels"} | {"labels"}
        edit = Edit(frozenset(changed), old, inputs, scope, timeout)
        known = {**old, **self._said_by_program(inputs)}
        try:
            for update in self.updates_for(edit):
                self.send_update(update, edit)
        except ProviderError as error:
            # The official plugin keeps what the program wanted; here the state keeps what is there.
            now = old if isinstance(error, Cancelled) else self.get(scope, known) or old
            reason = f'Error updating {self.kind.title} "{identity}": {error}'
            raise Half(Found(identity, dict(now)), reason) from error
        found = self.get(scope, known)
        if found is None:
            raise ProviderError(f"{self.kind.title} {identity!r} is gone; run `pulumi refresh`")
        return Found(identity, found)

    def _said_by_program(self, inputs: Mapping[str, Any]) -> Properties:
        """What the API does not say, or not as the program said it: it reaches the new state from the inputs."""
        names = (*self.kind.own_properties, "params", "metadataStartupScript")
        made: Properties = {name: inputs[name] for name in names if name in inputs}
        if self.kind.labels:
            made |= {"labels": inputs.get("labels", {}), "pulumiLabels": labels.own_labels(inputs)}
        return made

    def updates_for(self, edit: Edit) -> list[Update]:
        """The requests that the changed properties need, in the table's order.

        Raises:
            ProviderError: the stand-in does not know how to change one of them.
        """
        remaining = edit.changed - self.kind.own_properties
        needed = [update for update in self.kind.updates if set(update.properties) & remaining]
        strange = sorted(remaining - {name for update in needed for name in update.properties})
        if strange:
            raise ProviderError(
                f"the rehearsal's stand-in does not change {', '.join(strange)} of a {self.kind.token} in place; "
                "add an Update to its Kind, or replace the resource (`pulumi up --replace URN`)"
            )
        return needed

    def send_update(self, update: Update, edit: Edit) -> None:
        """Send one request of the table and wait for it."""
        url = self.url(self.kind.own_path, edit.scope) + update.verb
        made = self.update_body(update, edit)
        if update.fingerprint:
            made["fingerprint"] = (self.fetch(edit.scope) or {}).get("fingerprint")
        query = f"updateMask={','.join(self.mask(update, edit))}" if update.mask else ""
        answer = self.api.request(update.method, url, made, query, edit.timeout or self.kind.timeout)
        self.wait(edit.scope, answer, f"Updating {self.kind.title}", edit.timeout)

    def update_body(self, update: Update, edit: Edit) -> Body:
        """What an update sends: all properties of its group, changed or not."""
        properties = dict(edit.inputs)
        if "labels" in update.properties:
            properties["labels"] = labels.effective_labels(edit.inputs, edit.old)
        made = body(self.kind, properties, update.properties, self.kind.update_zeros, edit.scope)
        if update.verb == "/setLabels":
            made = {"labels": properties["labels"], "labelFingerprint": edit.old.get("labelFingerprint")}
        return made

    def mask(self, update: Update, edit: Edit) -> Sequence[str]:
        """The API's names of the changed fields, in the table's order."""
        inputs = self.kind.schema.inputs
        return [self.kind.field_of(inputs[name]) for name in update.properties if name in edit.changed]

    def delete(self, identity: str, properties: Mapping[str, Any], timeout: float | None) -> None:
        """Delete the resource and wait until it is gone; one that is gone already is fine.

        Raises:
            ProviderError: `deletionPolicy` is PREVENT, or the API refuses.
        """
        policy = properties.get("deletionPolicy", "DELETE")
        if policy == "ABANDON":
            return
        if policy == "PREVENT":
            raise ProviderError(
                f'cannot destroy {self.kind.title} "{identity}" without setting deletionPolicy to "DELETE" and '
                "running `pulumi up`"
            )
        self.send_deletion(properties, self.scope(properties), timeout)

    def send_deletion(
        self,
        properties: Mapping[str, Any],  # noqa: ARG002 derived types use it
        scope: Mapping[str, str],
        timeout: float | None,
    ) -> None:
        """Ask for the deletion and wait for it."""
        try:
            answer = self.api.request(
                "DELETE", self.url(self.kind.own_path, scope), timeout=timeout or self.kind.timeout
            )
        except GoogleApiError as error:
            if error.code == 404:
                return
            raise ProviderError(f"Error when reading or editing {self.kind.title}: {error}") from error
        self.wait(scope, answer, f"Deleting {self.kind.title}", timeout)

    def wait(self, scope: Mapping[str, str], answer: Answer, activity: str, timeout: float | None) -> Answer:
        """Wait for an operation of the type's service."""
        return wait_for(
            self.api,
            self.kind.operation,
            self.configuration.endpoints[self.kind.service],
            scope["project"],
            answer,
            activity,
            timeout or self.kind.timeout,
        )

    def scope(self, properties: Mapping[str, Any]) -> dict[str, str]:
        """The values for the kind's paths."""
        return scope_of(self.kind, properties, self.configuration.defaults)

    def url(self, path: str, scope: Mapping[str, str]) -> str:
        """The absolute URL of a path template."""
        return self.configuration.endpoints[self.kind.service] + path.format(**scope)

    def identity(self, scope: Mapping[str, str], answer: Answer) -> str:  # noqa: ARG002 derived types use it
        """Pulumi's id of the resource."""
        return self.kind.id_template.format(**scope)

    def identity_properties(self, scope: Mapping[str, str]) -> Properties:
        """Project, zone and region as the state holds them."""
        inputs = self.kind.schema.inputs
        return {name: scope[name] for name in ("project", "zone", "region") if name in scope and name in inputs}

    def parse_import(self, identity: str) -> Properties:
        """The properties that an id says.

        Raises:
            ProviderError: the id has none of the forms that the type takes.
        """
        for pattern in self.kind.import_patterns():
            match = pattern.fullmatch(identity)
            if match:
                return dict(match.groupdict())
        forms = ", ".join(pattern.pattern for pattern in self.kind.import_patterns())
        raise ProviderError(f'Import id "{identity}" doesn\'t match any of the accepted formats: [{forms}]')


def lifecycle_of(kind: Kind, api: Api, configuration: Configuration) -> Lifecycle:
    """The lifecycle that a kind names, imported when it is first needed."""
    module, _, name = kind.behaviour.partition(":")
    made = getattr(importlib.import_module(module), name)(kind, api, configuration)
    assert isinstance(made, Lifecycle)
    return made


def _texts(properties: Mapping[str, Any]) -> dict[str, str]:
    return {name: value for name, value in properties.items() if isinstance(value, str)}
