"""The identity of the hosts: a service account of the stack's own."""

from __future__ import annotations

import pulumi
import pulumi_gcp as gcp

from components.explained import child_of
from stack_settings import StackSettings

# What the agents on a TPU VM do in the project's name. Nothing of TPU or Compute: hosts learn about themselves from
# the metadata server, which asks for no role, so code that runs on a host cannot touch machines. Google's default
# service account would be Editor of the whole project.
ROLES = ("roles/logging.logWriter", "roles/monitoring.metricWriter")

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
"""The widest scope, as Google advises: roles decide, and scopes are only the older second lock."""


class Identity(pulumi.ComponentResource):
    """A service account with the least roles."""

    email: pulumi.Output[str]

    def __init__(self, stack: StackSettings) -> None:
        super().__init__("tpuwright:infra:Identity", "identity")
        account = gcp.serviceaccount.Account(
            "hosts",
            account_id=stack.service_account_id,
            display_name=f"TPU hosts of {stack.stack}",
            description=stack.owner,
            opts=child_of(self),
        )
        self.email = account.email
        self.ready: list[pulumi.Resource] = [
            gcp.projects.IAMMember(
                role.removeprefix("roles/").replace(".", "-").lower(),
                project=stack.settings.gcp.project,
                role=role,
                member=pulumi.Output.concat("serviceAccount:", account.email),
                opts=child_of(self),
            )
            for role in ROLES
        ]
        self.register_outputs({"email": self.email})
