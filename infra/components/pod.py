"""A TPU pod: one node of the TPU API (one host or many), and everything open between its members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pulumi
import pulumi_gcp as gcp

from components.explained import child_of
from components.identity import SCOPE, Identity
from components.network import Network
from components.patience import Patience
from placement import Placement
from stack_settings import StackSettings
from tpuwright.naming import label_value
from tpuwright.outputs import HostOutput, PodOutput, host_name

# Large slices take long, and a provider that gives up leaves a node that it does not know.
_MINUTES = 60


class Pod(pulumi.ComponentResource):
    """One slice. ``output`` is what the stack exports of it."""

    output: pulumi.Output[dict[str, Any]]

    def __init__(self, stack: StackSettings, placement: Placement, network: Network, identity: Identity) -> None:
        pod = placement.pod
        super().__init__("tpuwright:infra:Pod", pod.name)
        self.name = pod.name
        firewall = self._open_between_members(stack, placement, network)
        made = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        node = gcp.tpu.V2Vm(
            f"{pod.name}-node",
            name=placement.node,
            # A node has no property that says which incarnation it is, so the description does. It is new only when
            # no living node was found, and then replaces what the stack still holds; else it keeps its old value.
            description=f"Pod {pod.name}. {stack.owner}, {made}",
            zone=placement.zone,
            accelerator_type=pod.accelerator_type,
            runtime_version=pod.image,
            network_config={
                "network": network.id,
                "subnetwork": network.subnetwork(placement.region),
                "enable_external_ips": stack.settings.access.mode == "direct",
                "can_ip_forward": False,
            },
            scheduling_config={"spot": True} if pod.provisioning_model == "spot" else None,
            service_account={"email": identity.email, "scopes": [SCOPE]},
            metadata={**pod.metadata, **stack.ssh_metadata},
            labels={**stack.labels, **pod.labels, "tpuwright-pod": label_value(pod.name)},
            tags=[placement.node, stack.host_tag],
            opts=child_of(
                self,
                depends_on=[firewall, *network.ready, *identity.ready],
                replace_on_changes=["description"],
                ignore_changes=None if placement.fresh else ["description"],
                minutes=_MINUTES,
                watch=Patience(stack, placement, _MINUTES),
            ),
        )
        self.output = node.network_endpoints.apply(lambda endpoints: _output(placement, endpoints or []))
        self.register_outputs({"pod": self.output})

    def _open_between_members(
        self, stack: StackSettings, placement: Placement, network: Network
    ) -> gcp.compute.Firewall:
        """JAX's coordinator has a port, its collectives choose theirs: between members all is open."""
        return gcp.compute.Firewall(
            f"{placement.pod.name}-members",
            name=stack.name(placement.pod.name, "members"),
            description=stack.owner,
            network=network.id,
            direction="INGRESS",
            allows=[{"protocol": "all"}],
            source_tags=[placement.node],
            target_tags=[placement.node],
            opts=child_of(self),
        )


def _output(placement: Placement, endpoints: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The export of one pod: hosts as the API has them, everything else as the table predicts."""
    pod, accelerator = placement.pod, placement.pod.accelerator
    hosts = tuple(_host(pod.name, worker, endpoint) for worker, endpoint in enumerate(endpoints))
    if len(hosts) != accelerator.hosts:
        pulumi.log.error(
            f"Pod {pod.name} ({pod.accelerator_type}) was to have {accelerator.hosts} hosts, and the TPU API says "
            f"that node {placement.node} has {len(hosts)}: run 'pulumi refresh' and 'pulumi up'; if it stays so, "
            "tpuwright's table is wrong, so please report it."
        )
    return PodOutput(
        name=pod.name,
        node=placement.node,
        zone=placement.zone,
        accelerator_type=pod.accelerator_type,
        runtime_version=pod.image,
        provisioning_model=pod.provisioning_model,
        generation=accelerator.generation.name,
        topology=accelerator.topology,
        chips=accelerator.chips,
        chips_per_host=accelerator.chips_per_host,
        devices=accelerator.devices,
        slices=pod.slices,
        jax_environment=pod.jax_environment,
        hosts=hosts,
    ).model_dump(mode="json")


def _host(pod: str, worker: int, endpoint: Mapping[str, Any]) -> HostOutput:
    access = endpoint.get("access_configs") or [{}]
    return HostOutput(
        name=host_name(pod, worker),
        worker=worker,
        internal_ip=endpoint["ip_address"],
        external_ip=access[0].get("external_ip") or None,
    )
