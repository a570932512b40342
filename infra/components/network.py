"""The network of a stack: a VPC of its own, a subnet in each region in use, and the way out for its hosts."""

from __future__ import annotations

from collections.abc import Sequence

import pulumi
import pulumi_gcp as gcp

from components.explained import child_of
from placement import Placement
from stack_settings import StackSettings
from tpuwright.naming import region_of
from tpuwright.settings import subnets_of


class Network(pulumi.ComponentResource):
    """A custom-mode VPC. Nothing comes in by it: each opening belongs to the component that needs it."""

    id: pulumi.Output[str]
    """``projects/P/global/networks/N``, for firewall rules and nodes."""

    def __init__(self, stack: StackSettings, placements: Sequence[Placement]) -> None:
        super().__init__("tpuwright:infra:Network", "network")
        settings = stack.settings
        self._vpc = gcp.compute.Network(
            "network",
            name=stack.name(),
            description=stack.owner,
            auto_create_subnetworks=False,
            opts=child_of(self),
        )
        self.id = self._vpc.id
        ranges = subnets_of(settings.pods, settings.network, settings.access)
        regions = {placement.region for placement in placements}
        if settings.access.mode == "bastion":
            regions.add(region_of(settings.bastion_zone))
        self._subnetworks = {
            region: gcp.compute.Subnetwork(
                f"subnet-{region}",
                name=stack.name(region),
                description=stack.owner,
                network=self.id,
                region=region,
                ip_cidr_range=str(ranges[region]),
                private_ip_google_access=True,  # Google's own services without the NAT, and so without its price
                opts=child_of(self),
            )
            for region in sorted(regions)
        }
        # Hosts with external addresses (mode: direct) have their own way out.
        self._ways_out = (
            [self._way_out(stack, region) for region in sorted(regions)] if settings.access.mode == "bastion" else []
        )
        self.register_outputs({"id": self.id})

    def subnetwork(self, region: str) -> pulumi.Output[str]:
        """``projects/P/regions/R/subnetworks/S``"""
        return self._subnetworks[region].id

    @property
    def ready(self) -> list[pulumi.Resource]:
        """What must be there before a host boots, as its first boot installs packages."""
        return [*self._subnetworks.values(), *self._ways_out]

    def _way_out(self, stack: StackSettings, region: str) -> gcp.compute.RouterNat:
        router = gcp.compute.Router(
            f"router-{region}",
            name=stack.name(region),
            description=stack.owner,
            network=self.id,
            region=region,
            opts=child_of(self),
        )
        return gcp.compute.RouterNat(
            f"nat-{region}",
            name=stack.name(region),
            router=router.name,
            region=region,
            nat_ip_allocate_option="AUTO_ONLY",
            source_subnetwork_ip_ranges_to_nat="ALL_SUBNETWORKS_ALL_IP_RANGES",
            log_config={"enable": True, "filter": "ERRORS_ONLY"},
            # A NAT on a region without a subnet would be refused.
            opts=child_of(self, depends_on=[self._subnetworks[region]]),
        )
