"""The stack's exports: what configuration reads from infrastructure, in the shape of tpuwright.outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from components.access import Access
from components.pod import Pod
from stack_settings import StackSettings
from tpuwright.outputs import AccessOutput, BastionOutput, CloudOutput, PackagesOutput, StorageOutput, UserOutput
from tpuwright.settings import ca_bundle_of


def export(stack: StackSettings, pods: Sequence[Pod], access: Access) -> None:
    """Export pods, access, storage and cloud."""
    pulumi.export("pods", pulumi.Output.all(**{pod.name: pod.output for pod in pods}))
    pulumi.export("access", _access(stack, access))
    pulumi.export("storage", StorageOutput().model_dump(mode="json"))
    pulumi.export("cloud", _cloud(stack).model_dump(mode="json"))


def _access(stack: StackSettings, access: Access) -> pulumi.Input[dict[str, object]]:
    whole = AccessOutput(
        mode=stack.settings.access.mode,
        users=tuple(UserOutput(name=login.name, keys=login.keys, key_files=login.key_files) for login in stack.logins),
    )
    if access.bastion is None:
        return whole.model_dump(mode="json")

    def with_bastion(name: str, interfaces: Sequence[Mapping[str, Any]]) -> dict[str, object]:
        # At preview a provider may know the interfaces and not yet their addresses.
        address = interfaces[0].get("network_ip") or ""
        bastion = BastionOutput(name=name, zone=stack.settings.bastion_zone, internal_ip=address)
        return whole.model_copy(update={"bastion": bastion}).model_dump(mode="json")

    known = pulumi.Output.all(access.bastion.name, access.bastion.network_interfaces)
    return known.apply(lambda found: with_bastion(*found))


def _cloud(stack: StackSettings) -> CloudOutput:
    settings = stack.settings
    packages = {**settings.packages.model_dump(), "ca_bundle": ca_bundle_of(settings, stack.root)}
    return CloudOutput(
        project=settings.gcp.project,
        tpu_endpoint=settings.gcp.tpuV2CustomEndpoint,
        compute_endpoint=settings.gcp.computeCustomEndpoint,
        iap_endpoint=settings.endpoints.iap,
        packages=PackagesOutput(**packages),
    )
