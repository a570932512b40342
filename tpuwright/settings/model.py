"""Everything that a stack may say, as one typed model: ``Settings``.

The names are a contract, as stacks are files that people keep. Values that later versions will serve are in the
vocabulary already, and refused with a sentence that says which value works now. Relations between settings are
in ``relations.py``; reading them from a stack in ``loading.py``.
"""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

from tpuwright import addressing, naming
from tpuwright.settings.access import AccessSettings
from tpuwright.settings.endpoints import check_address
from tpuwright.settings.pod import PodSettings
from tpuwright.settings.problems import RefusedError, refuse
from tpuwright.settings.section import Section, checked_labels


class NetworkSettings(Section):
    """The VPC network that the stack makes for itself."""

    ip_cidr_range: Annotated[
        str,
        Field(
            description="the private range of the whole network; each region's subnet is a sixteenth of it",
            examples=["10.200.0.0/16"],
        ),
    ] = "10.200.0.0/16"
    existing: Annotated[str | None, Field(description="a network that exists already; comes in a later version")] = None

    @field_validator("ip_cidr_range")
    @classmethod
    def _range(cls, text: str) -> str:
        refuse(addressing.range_problem(text))
        return text

    @field_validator("existing")
    @classmethod
    def _existing(cls, name: str | None) -> str | None:
        if name is not None:
            raise RefusedError("comes in a later version of tpuwright; today a stack makes its own network: remove it")
        return name


class StorageSettings(Section):
    """Where checkpoints and shared files live. Comes in a later version."""

    bucket: Annotated[str | None, Field(description="the bucket for checkpoints; comes in a later version")] = None
    shared: Annotated[
        Literal["none"] | str | dict[str, str],
        Field(
            description="the directory that all hosts share: bastion, host0, filestore, {mounted: PATH} or none; "
            "today only 'none' works"
        ),
    ] = "none"

    @field_validator("bucket")
    @classmethod
    def _bucket(cls, bucket: str | None) -> str | None:
        if bucket is not None:
            raise RefusedError("comes in a later version of tpuwright, which will keep the bucket: remove it for now")
        return bucket

    @field_validator("shared")
    @classmethod
    def _shared(cls, shared: str | dict[str, str]) -> str | dict[str, str]:
        if shared in ("bastion", "host0", "filestore") or (isinstance(shared, dict) and list(shared) == ["mounted"]):
            raise RefusedError("comes in a later version of tpuwright; today it is 'none'")
        if shared != "none":
            raise RefusedError("does not exist; it can be: bastion, host0, filestore, {mounted: PATH} or none")
        return shared


class EndpointSettings(Section):
    """Addresses of Google's services that are not the gcp provider's (those are gcp:…CustomEndpoint)."""

    iap: Annotated[str, Field(description="where the Identity-Aware Proxy's tunnel is reached")] = (
        "wss://tunnel.cloudproxy.app/v4"
    )

    @field_validator("iap")
    @classmethod
    def _iap(cls, address: str) -> str:
        return check_address(address, scheme="ws")


class PackageSettings(Section):
    """How hosts reach package servers, where the direct way is closed (a company's proxy, a mirror)."""

    ca_bundle: Annotated[
        str | None,
        Field(description="a file on this machine with the certificates to trust", examples=["company-ca.pem"]),
    ] = None
    pip_index_url: Annotated[str | None, Field(description="the package index for Python")] = None
    http_proxy: Annotated[str | None, Field(description="the proxy for http")] = None
    https_proxy: Annotated[str | None, Field(description="the proxy for https")] = None
    no_proxy: Annotated[str | None, Field(description="what is reached without the proxy")] = None

    @field_validator("pip_index_url", "http_proxy", "https_proxy")
    @classmethod
    def _no_password(cls, address: str | None) -> str | None:
        if address is not None and urlsplit(address).password:
            raise RefusedError(
                "carries a password, which would stand in the stack's file, its exports and every host in plain text: "
                "use one that needs none",
                hide=True,
            )
        return address


class GcpSettings(BaseModel):
    """The keys of the gcp provider that tpuwright reads too; the provider has many more, which are left to it."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    project: Annotated[
        str, Field(description="the Google Cloud project that owns and pays for everything", examples=["my-project"])
    ]
    tpuV2CustomEndpoint: Annotated[str, Field(description="the TPU API")] = "https://tpu.googleapis.com/v2alpha1/"
    computeCustomEndpoint: Annotated[str, Field(description="the Compute Engine API")] = (
        "https://compute.googleapis.com/compute/v1/"
    )

    @field_validator("project")
    @classmethod
    def _project(cls, project: str) -> str:
        refuse(naming.project_problem(project))
        return project

    @field_validator("tpuV2CustomEndpoint", "computeCustomEndpoint")
    @classmethod
    def _endpoint(cls, address: str) -> str:
        check_address(address, scheme="http")
        return address if address.endswith("/") else f"{address}/"


class Settings(Section):
    """Everything that a stack may say, in the namespace ``tpuwright`` (and ``gcp`` for the project)."""

    pods: Annotated[
        tuple[PodSettings, ...],
        Field(
            min_length=1,
            description="the pods of this stack",
            examples=[[{"name": "pod", "zones": ["us-west4-a"], "accelerator_type": "v5litepod-16"}]],
        ),
    ]
    access: Annotated[
        AccessSettings,
        Field(
            description="who may come in, and how",
            examples=[{"users": [{"name": "nixie", "keys": ["~/.ssh/id_ed25519.pub"]}]}],
        ),
    ]
    network: Annotated[NetworkSettings, Field(description="the network that the stack makes")] = NetworkSettings()
    storage: Annotated[StorageSettings, Field(description="checkpoints and shared files")] = StorageSettings()
    endpoints: Annotated[EndpointSettings, Field(description="addresses of services")] = EndpointSettings()
    packages: Annotated[PackageSettings, Field(description="how hosts get packages")] = PackageSettings()
    labels: Annotated[dict[str, str], Field(description="labels of everything that takes labels")] = Field(
        default_factory=dict
    )
    gcp: Annotated[GcpSettings, Field(description="the gcp provider's own keys", exclude=True)]

    @field_validator("labels")
    @classmethod
    def _labels(cls, labels: dict[str, str]) -> dict[str, str]:
        return checked_labels(labels)

    @property
    def bastion_zone(self) -> str:
        return self.access.bastion.zone or self.pods[0].zones[0]
