"""What tpuwright reads from the Compute Engine API: the bastion."""

from dataclasses import dataclass
from typing import Any

from tpuwright.cloud.client import call, service
from tpuwright.cloud.errors import CloudError
from tpuwright.cloud.hostkeys import HostKey, host_keys


@dataclass(frozen=True)
class Instance:
    """A virtual machine as the API has it now."""

    name: str
    status: str
    internal_ip: str
    external_ip: str | None


class ComputeApi:
    """Reads instances of one project; every method raises ``CloudError``."""

    def __init__(self, project: str, endpoint: str | None = None) -> None:
        """``endpoint`` includes the version path, as the stack's configuration has it."""
        self._project = project
        self._instances = service("compute", endpoint).instances()

    def instance(self, zone: str, name: str) -> Instance:
        """The instance ``name`` of ``zone``."""
        answer: dict[str, Any] = call(
            lambda: self._instances.get(project=self._project, zone=zone, instance=name),
            f"the state of instance {name} in {zone}",
        )
        interface = (answer.get("networkInterfaces") or [{}])[0]
        access = (interface.get("accessConfigs") or [{}])[0]
        return Instance(
            name=str(answer.get("name", name)),
            status=str(answer.get("status", "")),
            internal_ip=str(interface.get("networkIP", "")),
            external_ip=access.get("natIP") or None,
        )

    def host_keys(self, zone: str, name: str) -> list[HostKey]:
        """The ssh host keys that the instance published; empty while there are none."""
        try:
            answer = call(
                lambda: self._instances.getGuestAttributes(
                    project=self._project, zone=zone, instance=name, queryPath="hostkeys/"
                ),
                f"the ssh host keys of instance {name} in {zone}",
            )
        except CloudError as error:
            # Compute Engine answers 404 until the guest has written to the namespace.
            if error.kind == "not_found":
                return []
            raise
        return host_keys(answer.get("queryValue", {}).get("items", []))
