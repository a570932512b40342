"""A disk: read before it is deleted, as a disk in use is first taken off its instances."""

from collections.abc import Mapping
from typing import Any

from rehearsal.provider.errors import ProviderError
from rehearsal.provider.lifecycle import Lifecycle
from rehearsal.provider.links import last_part


class Disk(Lifecycle):
    """The table's disk, with the look before the deletion."""

    def send_deletion(self, properties: Mapping[str, Any], scope: Mapping[str, str], timeout: float | None) -> None:
        found = self.fetch(scope)
        if found is None:
            return
        if found.get("users"):
            users = ", ".join(map(last_part, found["users"]))
            raise ProviderError(
                f"the disk {scope['name']} is attached to {users}; the rehearsal's stand-in detaches nothing: "
                "delete the instance first"
            )
        super().send_deletion(properties, scope, timeout)
