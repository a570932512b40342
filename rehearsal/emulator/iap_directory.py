"""What the IAP relay has to know, read from the embedded cloud's state."""

from __future__ import annotations

from rehearsal.emulator.auth import USER
from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.iap import Target, Wanted
from rehearsal.emulator.services import iam_policies_stored
from rehearsal.emulator.services.compute import resources
from rehearsal.emulator.services.compute.firewall_rules import to_rule
from rehearsal.emulator.services.compute.references import FIREWALLS, INSTANCES
from rehearsal.hosts.backend import IAP_RANGE
from rehearsal.hosts.firewall import admits

TUNNEL_ROLES = frozenset({"roles/iap.tunnelResourceAccessor", "roles/owner"})


class CloudDirectory:
    """A relay's Directory over one project's instances, firewall rules and IAM policy."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud

    def caller(self, token: str) -> str | None:
        """The user, or the service account, whose access token it is."""
        return self._cloud.tokens.caller(token)

    def permitted(self, caller: str, wanted: Wanted) -> bool:
        """The user owns the project; a service account needs a role that lets it open tunnels."""
        if caller == USER:
            return True
        policy = iam_policies_stored.read(self._cloud, f"projects/{wanted.project}")
        member = f"serviceAccount:{caller}"
        return any(
            binding["role"] in TUNNEL_ROLES and member in binding.get("members", ())
            for binding in policy.get("bindings", ())
        )

    def find(self, wanted: Wanted) -> Target | None:
        """The address of the instance's interface, and whether IAP is let in to the port."""
        project = self._cloud.project
        if wanted.project not in (project, self._cloud.project_number):
            return None
        document = self._cloud.store.get(INSTANCES.full_name(project, wanted.zone, wanted.instance))
        if document is None:
            return None
        for interface in document["networkInterfaces"]:
            if interface["name"] == wanted.interface:
                rules = (
                    to_rule(rule, rule["network"]) for _, rule in self._cloud.store.list(resources.kind(FIREWALLS))
                )
                tags = document["tags"].get("items", ())
                admitted = admits(rules, interface["network"], tags, IAP_RANGE, wanted.port)
                return Target(interface["networkIP"], admitted)
        return None
