"""An API that a project has enabled: looked up in the list of what is enabled, and left enabled unless told else."""

from collections.abc import Mapping
from typing import Any

from rehearsal.provider.api import DEFAULT_TIMEOUT, Answer
from rehearsal.provider.errors import GoogleApiError, ProviderError
from rehearsal.provider.lifecycle import Found, Lifecycle
from rehearsal.provider.links import last_part
from rehearsal.provider.values import Properties

_ENABLED = "fields=services/name,nextPageToken&filter=state:ENABLED&pageSize=200"


class EnabledService(Lifecycle):
    """`gcp:projects/service:Service`."""

    def create(self, inputs: Mapping[str, Any], timeout: float | None) -> Found:
        scope = self.scope(inputs)
        if scope["service"] not in self._enabled(scope):
            try:
                answer = self.api.request(
                    "POST", self.url(self.kind.own_path, scope) + ":enable", {}, timeout=timeout or DEFAULT_TIMEOUT
                )
            except GoogleApiError as error:
                raise ProviderError(
                    f"Error when reading or editing Project Service {scope['project']}/{scope['service']}: {error}"
                ) from error
            self.wait(scope, answer, "enabling services", timeout)
            self._enabled(scope)
        return self._first_read(scope, {}, dict(inputs))

    def get(self, scope: Mapping[str, str], known: Mapping[str, Any]) -> Properties | None:
        project = self.fetch_project(scope)
        if project is None or scope["service"] not in self._enabled(scope):
            return None
        own = {name: known[name] for name in self.kind.own_properties if name in known}
        return {"deletionPolicy": "DELETE", **own, "project": scope["project"], "service": scope["service"]}

    def fetch_project(self, scope: Mapping[str, str]) -> Answer | None:
        """The project itself, as a service of a deleted project is gone with it."""
        url = self.configuration.endpoints["resourceManager"] + f"projects/{scope['project']}"
        try:
            answer = self.api.request("GET", url)
        except GoogleApiError as error:
            if error.code == 404:
                return None
            self._reading(scope, error)
        return None if answer.get("lifecycleState") == "DELETE_REQUESTED" else answer

    def send_deletion(self, properties: Mapping[str, Any], scope: Mapping[str, str], timeout: float | None) -> None:
        if not properties.get("disableOnDestroy"):
            return
        body = {"disableDependentServices": bool(properties.get("disableDependentServices"))}
        answer = self.api.request("POST", self.url(self.kind.own_path, scope) + ":disable", body)
        self.wait(scope, answer, "disabling services", timeout)

    def _enabled(self, scope: Mapping[str, str]) -> set[str]:
        names: set[str] = set()
        page = ""
        while True:
            query = _ENABLED + (f"&pageToken={page}" if page else "")
            answer = self.api.request("GET", self.url(self.kind.collection, scope), None, query)
            names |= {last_part(service.get("name", "")) for service in answer.get("services") or []}
            page = answer.get("nextPageToken", "")
            if not page:
                return names
