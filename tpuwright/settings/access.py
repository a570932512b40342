"""Who may come in and how, as a stack describes it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from tpuwright import addressing, naming
from tpuwright.settings.problems import RefusedError, refuse
from tpuwright.settings.section import Section


class UserSettings(Section):
    """A login on the bastion and on every host."""

    name: Annotated[str, Field(description="the login", examples=["nixie"])]
    keys: Annotated[
        tuple[str, ...],
        Field(
            min_length=1,
            description="public ssh keys: files (relative to the project, or from ~) or the text of a key",
            examples=[["~/.ssh/id_ed25519.pub"]],
        ),
    ]

    @field_validator("name")
    @classmethod
    def _name(cls, name: str) -> str:
        refuse(naming.login_problem(name))
        return name


class BastionSettings(Section):
    """The machine through which people come in (mode: bastion)."""

    zone: Annotated[str | None, Field(description="where it stands; by default in the zone of the first pod")] = None
    machine_type: Annotated[str, Field(description="its size")] = "e2-micro"

    @field_validator("zone")
    @classmethod
    def _zone(cls, zone: str | None) -> str | None:
        refuse(naming.zone_problem(zone) if zone is not None else None)
        return zone


class AccessSettings(Section):
    """Who may come in, and how."""

    mode: Annotated[
        Literal["bastion", "direct"],
        Field(
            description="'bastion': over Google's Identity-Aware Proxy to a bastion without external address; "
            "'direct': hosts get external addresses, and ssh is open to the ranges in cidrs"
        ),
    ] = "bastion"
    cidrs: Annotated[
        tuple[str, ...],
        Field(
            description="with mode: direct, the addresses that people come from",
            examples=[["203.0.113.7/32"]],
        ),
    ] = ()
    users: Annotated[
        tuple[UserSettings, ...],
        Field(
            min_length=1,
            description="the logins; Ansible uses the first",
            examples=[[{"name": "nixie", "keys": ["~/.ssh/id_ed25519.pub"]}]],
        ),
    ]
    bastion: Annotated[BastionSettings, Field(description="the bastion itself")] = BastionSettings()

    @field_validator("cidrs")
    @classmethod
    def _cidrs(cls, cidrs: tuple[str, ...]) -> tuple[str, ...]:
        for index, cidr in enumerate(cidrs):
            refuse(addressing.opening_problem(cidr), within=f"[{index}]", value=cidr)
        return cidrs

    @model_validator(mode="after")
    def _mode_and_cidrs(self) -> AccessSettings:
        if self.mode == "direct" and not self.cidrs:
            raise RefusedError(
                "needs the addresses that people come from: add cidrs, such as ['203.0.113.7/32']",
                within=".mode",
                value="direct",
            )
        if self.mode == "bastion" and self.cidrs:
            raise RefusedError(
                "would open nothing, as with mode: bastion people come in over IAP: remove it, or write mode: direct",
                within=".cidrs",
                value=list(self.cidrs),
            )
        return self
