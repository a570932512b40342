"""One pod, as a stack describes it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from tpuwright import accelerators, naming
from tpuwright.settings.problems import RefusedError, refuse
from tpuwright.settings.section import Section, checked_labels

RESERVED_METADATA = {
    "ssh-keys": "logins come from access.users",
    "enable-guest-attributes": "tpuwright sets it, so that host keys are known before the first connection",
    "block-project-ssh-keys": "tpuwright sets it, so that only the logins of access.users come in",
}


class PodSettings(Section):
    """One TPU slice: a single host or a pod of many."""

    name: Annotated[
        str,
        Field(description="what the pod is called here; its hosts become NAME-w0, NAME-w1 and so on", examples=["pod"]),
    ]
    zones: Annotated[
        tuple[str, ...],
        Field(
            min_length=1,
            description="in which zones the pod may be, the wanted one first; a live pod never moves by itself",
            examples=[["us-west4-a"]],
        ),
    ]
    accelerator_type: Annotated[
        str, Field(description="which TPU and how large, by the API's name", examples=["v5litepod-16"])
    ]
    runtime_version: Annotated[
        str | None,
        Field(
            description="which image the hosts boot; by default the one for the type's generation",
            examples=["v2-alpha-tpuv5-lite"],
        ),
    ] = None
    request: Annotated[
        Literal["direct", "queued"], Field(description="how the pod is asked for; 'queued' comes in a later version")
    ] = "direct"
    provisioning_model: Annotated[
        Literal["standard", "spot", "reservation-bound", "flex-start"],
        Field(
            description="how Google provides it: 'spot' is cheaper and can be taken away at any time; "
            "'reservation-bound' and 'flex-start' come in a later version"
        ),
    ] = "standard"
    slices: Annotated[int, Field(description="how many slices of this type; more than one comes with 'queued'")] = 1
    reservation: Annotated[
        str | None, Field(description="which reservation to use; comes with 'reservation-bound'")
    ] = None
    wait: Annotated[str | None, Field(description="how long to wait for a place; comes with 'queued'")] = None
    labels: Annotated[dict[str, str], Field(description="labels of this pod's node, in addition to the stack's")] = (
        Field(default_factory=dict)
    )
    metadata: Annotated[
        dict[str, str], Field(description="instance metadata of the hosts, such as a startup-script")
    ] = Field(default_factory=dict)
    jax_environment: Annotated[
        dict[str, str],
        Field(
            description="environment variables for every login and job on the hosts",
            examples=[{"JAX_TRACEBACK_FILTERING": "off"}],
        ),
    ] = Field(default_factory=dict)

    @property
    def accelerator(self) -> accelerators.Accelerator:
        return accelerators.lookup(self.accelerator_type)

    @property
    def image(self) -> str:
        """The runtime version asked for, or the generation's own."""
        return self.runtime_version or self.accelerator.runtime_version

    @field_validator("name")
    @classmethod
    def _name(cls, name: str) -> str:
        refuse(naming.pod_name_problem(name))
        return name

    @field_validator("zones")
    @classmethod
    def _zones(cls, zones: tuple[str, ...]) -> tuple[str, ...]:
        for index, zone in enumerate(zones):
            refuse(naming.zone_problem(zone), within=f"[{index}]", value=zone)
            if zone in zones[:index]:
                raise RefusedError("stands here twice: remove one", within=f"[{index}]", value=zone)
        return zones

    @field_validator("accelerator_type")
    @classmethod
    def _accelerator_type(cls, name: str) -> str:
        try:
            return accelerators.lookup(name).name
        except accelerators.UnknownAcceleratorError as error:
            raise RefusedError(error.reason) from error

    @field_validator("request")
    @classmethod
    def _request(cls, request: str) -> str:
        if request == "queued":
            raise RefusedError("comes in a later version of tpuwright; today pods are made with request: direct")
        return request

    @field_validator("provisioning_model")
    @classmethod
    def _provisioning_model(cls, model: str) -> str:
        if model not in ("standard", "spot"):
            raise RefusedError("comes in a later version of tpuwright; today 'standard' and 'spot' work")
        return model

    @field_validator("slices")
    @classmethod
    def _slices(cls, slices: int) -> int:
        if slices < 1:
            raise RefusedError("is less than one slice: write 1, or remove the pod")
        if slices > 1:
            raise RefusedError(
                "needs request: queued, which comes in a later version of tpuwright; today a pod has slices: 1"
            )
        return slices

    @field_validator("reservation")
    @classmethod
    def _reservation(cls, reservation: str | None) -> str | None:
        if reservation is not None:
            raise RefusedError("needs a reservation-bound pod, which comes in a later version: remove it for now")
        return reservation

    @field_validator("wait")
    @classmethod
    def _wait(cls, wait: str | None) -> str | None:
        if wait is not None:
            raise RefusedError("needs request: queued, which comes in a later version: remove it for now")
        return wait

    @field_validator("labels")
    @classmethod
    def _labels(cls, labels: dict[str, str]) -> dict[str, str]:
        return checked_labels(labels)

    @field_validator("metadata")
    @classmethod
    def _metadata(cls, metadata: dict[str, str]) -> dict[str, str]:
        for key in metadata:
            if key in RESERVED_METADATA:
                raise RefusedError(f"is not yours to set: {RESERVED_METADATA[key]}", within=f".{key}", hide=True)
        return metadata

    @field_validator("jax_environment")
    @classmethod
    def _jax_environment(cls, environment: dict[str, str]) -> dict[str, str]:
        for name, value in environment.items():
            refuse(naming.environment_name_problem(name), value=name)
            if "\n" in value:
                raise RefusedError("has a line break, which /etc/environment cannot hold", within=f".{name}")
        return environment
