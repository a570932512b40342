"""What a stack exports: the only thing that configuration reads from infrastructure.

The Pulumi program builds these models and exports each field of ``StackOutputs`` under its own name; the
inventory, ssh and the reports read the exports back with ``StackOutputs.model_validate``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Output(BaseModel):
    # The reader may be an older tpuwright than the one that wrote the exports: extra keys pass.
    model_config = ConfigDict(frozen=True, extra="ignore")


class HostOutput(_Output):
    """One TPU VM of a pod, called ``name`` by ssh and Ansible; ``slice`` is None while a pod has one slice."""

    name: str
    worker: Annotated[int, Field(ge=0)]
    slice: int | None = None
    internal_ip: str
    external_ip: str | None = None


class PodOutput(_Output):
    """One pod. ``node`` is the id in the TPU API; ``devices`` is what ``jax.device_count()`` must say.

    ``hosts`` comes from the API's networkEndpoints after creation, ordered by worker; ``chips``,
    ``chips_per_host``, ``devices`` and ``topology`` come from the accelerator table; ``jax_environment``
    goes to the environment of every login on the hosts.
    """

    name: str
    node: str
    zone: str
    accelerator_type: str
    runtime_version: str
    provisioning_model: Literal["standard", "spot", "reservation-bound", "flex-start"]
    generation: str
    topology: str
    chips: int
    chips_per_host: int
    devices: int
    slices: int = 1
    jax_environment: dict[str, str] = Field(default_factory=dict)
    hosts: tuple[HostOutput, ...]


class BastionOutput(_Output):
    """The machine through which people reach the hosts; it has no external address."""

    name: str
    zone: str
    internal_ip: str


class UserOutput(_Output):
    """A login on the hosts. ``keys`` are public keys as text, ``key_files`` the files they were read from."""

    name: str
    keys: tuple[str, ...]
    key_files: tuple[str, ...] = ()


class AccessOutput(_Output):
    """How hosts are reached. ``users[0]`` is the login that Ansible uses."""

    mode: Literal["bastion", "direct"]
    bastion: BastionOutput | None = None
    users: Annotated[tuple[UserOutput, ...], Field(min_length=1)]


class PackagesOutput(_Output):
    """Where hosts get packages from; every field is optional. ``ca_bundle`` is a path on the controller."""

    ca_bundle: str | None = None
    pip_index_url: str | None = None
    http_proxy: str | None = None
    https_proxy: str | None = None
    no_proxy: str | None = None


class CloudOutput(_Output):
    """The project and the API's addresses, so that what runs after Pulumi asks the same cloud."""

    project: str
    tpu_endpoint: str
    compute_endpoint: str
    iap_endpoint: str
    packages: PackagesOutput = PackagesOutput()


class StorageOutput(_Output):
    """Empty until the storage issue fills it."""


class StackOutputs(_Output):
    """All exports of one stack."""

    pods: dict[str, PodOutput]
    access: AccessOutput
    storage: StorageOutput = StorageOutput()
    cloud: CloudOutput


def host_name(pod: str, worker: int, slice_index: int | None = None) -> str:
    """``pod-w0``; with several slices ``pod-s1-w0``: its name for ssh, in the inventory and in reports."""
    return f"{pod}-w{worker}" if slice_index is None else f"{pod}-s{slice_index}-w{worker}"
