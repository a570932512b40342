"""What a person has to be allowed to do for a stack to live, and the role that allows it.

Source: the permissions that the methods of infra's resources name in Google's reference, and the lists of predefined
roles (https://cloud.google.com/iam/docs/roles-permissions).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_BY_ROLE: Final[dict[str, tuple[str, ...]]] = {
    "roles/tpu.admin": (
        "tpu.acceleratortypes.list",
        "tpu.nodes.create",
        "tpu.nodes.delete",
        "tpu.nodes.get",
        "tpu.nodes.list",
        "tpu.nodes.update",
        "tpu.operations.get",
    ),
    "roles/compute.networkAdmin": (
        "compute.networks.create",
        "compute.networks.delete",
        "compute.networks.get",
        "compute.networks.updatePolicy",
        "compute.routers.create",
        "compute.routers.delete",
        "compute.routers.update",
        "compute.subnetworks.create",
        "compute.subnetworks.delete",
        "compute.subnetworks.get",
        "compute.subnetworks.use",
    ),
    "roles/compute.securityAdmin": (
        "compute.firewalls.create",
        "compute.firewalls.delete",
        "compute.firewalls.get",
        "compute.firewalls.update",
    ),
    "roles/compute.instanceAdmin.v1": (
        "compute.disks.create",
        "compute.instances.create",
        "compute.instances.delete",
        "compute.instances.get",
        "compute.instances.getGuestAttributes",
        "compute.instances.setLabels",
        "compute.instances.setMetadata",
        "compute.instances.setTags",
    ),
    "roles/iam.serviceAccountAdmin": (
        "iam.serviceAccounts.create",
        "iam.serviceAccounts.delete",
        "iam.serviceAccounts.get",
    ),
    "roles/iam.serviceAccountUser": ("iam.serviceAccounts.actAs",),
    "roles/resourcemanager.projectIamAdmin": (
        "resourcemanager.projects.getIamPolicy",
        "resourcemanager.projects.setIamPolicy",
    ),
    "roles/iap.tunnelResourceAccessor": ("iap.tunnelInstances.accessViaIAP",),
    "roles/serviceusage.serviceUsageViewer": ("serviceusage.services.list",),
}

PERMISSIONS: Final[tuple[str, ...]] = tuple(sorted(name for names in _BY_ROLE.values() for name in names))
"""All of them; Google tests at most 100 in one call."""


def missing_roles(permissions: Iterable[str]) -> list[str]:
    """The predefined roles that hold `permissions`, each once and in the order of the table."""
    wanted = set(permissions)
    return [role for role, names in _BY_ROLE.items() if wanted.intersection(names)]
