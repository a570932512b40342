"""How what belongs to a rehearsal is marked and named in the Docker engine, which keeps all of a backend's state."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rehearsal.hosts.backend import HostSpec, SubnetworkSpec

REHEARSAL = "tpuwright.rehearsal"
KEY = "tpuwright.key"
HOST = "tpuwright.host"
SUBNETWORK = "tpuwright.subnetwork"
STOPPED_SUFFIX = ".stopped"
"""Ends the name of a container that was asked to stop: a label could not be changed."""


def of_host(rehearsal: str, spec: HostSpec) -> dict[str, str]:
    """A container's labels."""
    return {REHEARSAL: rehearsal, KEY: spec.key, HOST: json.dumps(asdict(spec), sort_keys=True)}


def host_of(labels: Mapping[str, str]) -> HostSpec:
    """The host that a container's labels describe."""
    content = json.loads(labels[HOST])
    return HostSpec(**{**content, "tags": tuple(content["tags"])})


def of_subnetwork(rehearsal: str, spec: SubnetworkSpec) -> dict[str, str]:
    """A Docker network's labels."""
    return {REHEARSAL: rehearsal, KEY: spec.name, SUBNETWORK: json.dumps(asdict(spec), sort_keys=True)}


def subnetwork_of(labels: Mapping[str, str]) -> SubnetworkSpec:
    """The subnetwork that a Docker network's labels describe, with the `nat` that it was made with."""
    return SubnetworkSpec(**json.loads(labels[SUBNETWORK]))


def container_name(rehearsal: str, spec: HostSpec) -> str:
    """Readable, and unique by the key."""
    return f"tpuwright-{rehearsal}-{spec.hostname}-{_short(spec.key)}"


def network_name(rehearsal: str, spec: SubnetworkSpec) -> str:
    """Readable, and unique by the subnetwork's full name."""
    readable = re.sub(r"[^A-Za-z0-9_.-]", "-", spec.name.rpartition("/")[2])
    return f"tpuwright-{rehearsal}-{readable}-{_short(spec.name)}"


def query(rehearsal: str, **exact: str) -> dict[str, Any]:
    """Engine filters for everything of a rehearsal, or for one KEY with `key=`."""
    wanted = [f"{REHEARSAL}={rehearsal}", *(f"tpuwright.{name}={value}" for name, value in exact.items())]
    return {"label": wanted}


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:6]
