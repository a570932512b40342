"""The rehearsal's stack file and its key: generated, git-ignored, and otherwise a stack like any other."""

from __future__ import annotations

import secrets
import subprocess
from pathlib import Path
from typing import Any

import yaml

from rehearsal.lifecycle.machine_packages import machine_packages
from rehearsal.paths import RehearsalPaths
from tpuwright.accelerators import UnknownAcceleratorError, lookup
from tpuwright.errors import TpuwrightError

LOGIN = "researcher"

# A pod of four hosts, sixteen chips; JAX runs on the CPU there, one device a chip, as this machine has no TPU.
_POD: dict[str, Any] = {
    "name": "pod",
    "zones": ["us-west4-a"],
    "accelerator_type": "v5litepod-16",
    "jax_environment": {
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
    },
}


def write_stack_file(file: Path, paths: RehearsalPaths, endpoint: str, project: str) -> None:
    """Write a rehearsal's stack file for an emulator at `endpoint` (http://127.0.0.1:PORT).

    What a person has changed in it (another accelerator type, a second pod) is kept, and so is Pulumi's
    `encryptionsalt`; what depends on this machine (endpoints, packages, key) is written anew.
    """
    document = (yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else None) or {}
    config: dict[str, Any] = document.setdefault("config", {})
    key = ensure_key(paths)
    config.update(
        {
            "gcp:project": project,
            "gcp:tpuV2CustomEndpoint": f"{endpoint}/v2alpha1/",
            "gcp:computeCustomEndpoint": f"{endpoint}/compute/beta/",
            "gcp:iamCustomEndpoint": f"{endpoint}/v1/",
            "gcp:resourceManagerCustomEndpoint": f"{endpoint}/v1/",
            "gcp:serviceUsageCustomEndpoint": f"{endpoint}/v1/",
            "tpuwright:endpoints": {"iap": f"{endpoint.replace('http', 'ws', 1)}/v4"},
            "tpuwright:packages": machine_packages(),
            "tpuwright:access": {
                "mode": "bastion",
                "users": [{"name": LOGIN, "keys": [str(key.with_suffix(".pub"))]}],
            },
        }
    )
    config.setdefault("tpuwright:pods", [_POD])
    config.setdefault("tpuwright:network", {"ip_cidr_range": "10.200.0.0/16"})
    _write(file, document)


def choose_accelerator(file: Path, accelerator_type: str) -> None:
    """Make the first pod of the stack file an `accelerator_type`, with one CPU device for each JAX device of a host.

    A zone that does not offer the type gives way to the first that is known to. Raises TpuwrightError for a type that
    does not exist.
    """
    try:
        chosen = lookup(accelerator_type)
    except UnknownAcceleratorError as error:
        raise TpuwrightError(str(error)) from error
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    pod = document["config"]["tpuwright:pods"][0]
    pod["accelerator_type"] = chosen.name
    if pod["zones"][0] not in chosen.generation.zones:
        pod["zones"] = [chosen.generation.zones[0]]
    pod["jax_environment"] = {
        **pod.get("jax_environment", {}),
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={chosen.devices // chosen.hosts}",
    }
    _write(file, document)


def choose_range(file: Path, ip_cidr_range: str) -> None:
    """Give the stack file's network another range."""
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    document["config"]["tpuwright:network"] = {"ip_cidr_range": ip_cidr_range}
    _write(file, document)


def _write(file: Path, document: dict[str, Any]) -> None:
    file.write_text(
        "# Written by `make rehearse`: endpoints, packages and key anew each time, the rest kept as you change it.\n"
        + yaml.safe_dump(document, sort_keys=False),
        encoding="utf-8",
    )


def ensure_key(paths: RehearsalPaths) -> Path:
    """The private key with which a rehearsal logs in, made on first use; it never leaves the state directory."""
    if not paths.ssh_key.exists():
        paths.ssh_key.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "tpuwright-rehearsal", "-f", str(paths.ssh_key)]
        subprocess.run(command, check=True)
    return paths.ssh_key


def ensure_passphrase(paths: RehearsalPaths) -> None:
    """Make the passphrase that encrypts the secrets of the rehearsal's state, 0600, where there is none."""
    if not paths.passphrase.exists():
        paths.make().passphrase.touch(mode=0o600)
        paths.passphrase.write_text(secrets.token_urlsafe(24), encoding="utf-8")
