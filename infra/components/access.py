"""The way in for people: a bastion behind the Identity-Aware Proxy, or hosts open to the ranges that they name."""

from __future__ import annotations

import pulumi
import pulumi_gcp as gcp

from components.explained import child_of
from components.network import Network
from stack_settings import StackSettings
from tpuwright.naming import region_of

IAP_RANGE = "35.235.240.0/20"
"""Where Google's tunnels come from (https://cloud.google.com/iap/docs/using-tcp-forwarding)."""

BASTION_IMAGE = "debian-cloud/debian-12"


class Access(pulumi.ComponentResource):
    """Ssh for the stack's users, and for nobody else."""

    def __init__(self, stack: StackSettings, network: Network) -> None:
        super().__init__("tpuwright:infra:Access", "access")
        self.bastion: gcp.compute.Instance | None = None
        if stack.settings.access.mode == "bastion":
            self.bastion = self._bastion(stack, network)
            self._rule("iap-to-bastion", stack, network, stack.bastion_tag, source_ranges=[IAP_RANGE])
            self._rule("bastion-to-hosts", stack, network, stack.host_tag, source_tags=[stack.bastion_tag])
        else:
            self._rule(
                "people-to-hosts", stack, network, stack.host_tag, source_ranges=list(stack.settings.access.cidrs)
            )
        self.register_outputs({})

    def _bastion(self, stack: StackSettings, network: Network) -> gcp.compute.Instance:
        zone = stack.settings.bastion_zone
        return gcp.compute.Instance(
            "bastion",
            name=stack.name("bastion"),
            description=stack.owner,
            zone=zone,
            machine_type=stack.settings.access.bastion.machine_type,
            allow_stopping_for_update=True,  # another machine_type needs a restart, and nothing runs here
            boot_disk={"initialize_params": {"image": BASTION_IMAGE, "size": 10, "labels": stack.labels}},
            # No access configuration, so no external address; and no service account, so nothing to steal.
            network_interfaces=[{"subnetwork": network.subnetwork(region_of(zone))}],
            shielded_instance_config={
                "enable_secure_boot": True,
                "enable_vtpm": True,
                "enable_integrity_monitoring": True,
            },
            metadata=stack.ssh_metadata,
            labels=stack.labels,
            tags=[stack.bastion_tag],
            opts=child_of(self, depends_on=network.ready),
        )

    def _rule(
        self,
        name: str,
        stack: StackSettings,
        network: Network,
        target_tag: str,
        *,
        source_ranges: list[str] | None = None,
        source_tags: list[str] | None = None,
    ) -> gcp.compute.Firewall:
        return gcp.compute.Firewall(
            name,
            name=stack.name(name),
            description=stack.owner,
            network=network.id,
            direction="INGRESS",
            allows=[{"protocol": "tcp", "ports": ["22"]}],
            source_ranges=source_ranges,
            source_tags=source_tags,
            target_tags=[target_tag],
            opts=child_of(self),
        )
