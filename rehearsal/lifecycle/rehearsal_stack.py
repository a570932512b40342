"""The rehearsal's stack file and its key: generated, git-ignored, and otherwise a stack like any other."""

from __future__ import annotations

import secrets
import subprocess
from pathlib import Path
from typing import Any

import yaml

from rehearsal.lifecycle.machine_packages import machine_packages

STACK = "rehearsal"
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


def write_stack_file(project_directory: Path, state_directory: Path, endpoint: str, project: str) -> Path:
    """Write Pulumi.rehearsal.yaml for an emulator at `endpoint` (http://127.0.0.1:PORT); return its path.

    What a person has changed in it (another accelerator type, a second pod) is kept, and so is Pulumi's
    `encryptionsalt`; what depends on this machine (endpoints, packages, key) is written anew.
    """
    file = project_directory / f"Pulumi.{STACK}.yaml"
    document = yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else None
    document = document or {}
    config: dict[str, Any] = document.setdefault("config", {})
    key = ensure_key(state_directory)
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
    file.write_text(
        "# Written by `make rehearse`: endpoints, packages and key anew each time, the rest kept as you change it.\n"
        + yaml.safe_dump(document, sort_keys=False),
        encoding="utf-8",
    )
    return file


def ensure_key(state_directory: Path) -> Path:
    """The private key with which a rehearsal logs in, made on first use; it never leaves the state directory."""
    key = state_directory / "ssh" / "id_ed25519"
    if not key.exists():
        key.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "tpuwright-rehearsal", "-f", str(key)],
            check=True,
        )
    return key


def ensure_passphrase(state_directory: Path) -> Path:
    """The file with the passphrase that encrypts the secrets of the rehearsal's state; 0600, made on first use."""
    file = state_directory / "passphrase"
    if not file.exists():
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.touch(mode=0o600)
        file.write_text(secrets.token_urlsafe(24), encoding="utf-8")
    return file
