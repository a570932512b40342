"""The exports of a small stack, and a Pulumi backend that holds them."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tpuwright.pulumi_engine import find_engine

PROJECT = "my-project"
NODE_URN = "urn:pulumi:dev::tpuwright::tpuwright:infra:Pod$gcp:tpu/v2Vm:V2Vm::pod"


def key_of(host: str) -> str:
    """A well-formed ed25519 public key that belongs to nobody, another for each name."""
    blob = b"\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20" + host.encode().ljust(32, b".")[:32]
    return base64.b64encode(blob).decode()


def outputs(endpoint: str = "http://127.0.0.1:1", *, bastion: bool = True, key_file: str = "id.pub") -> dict[str, Any]:
    """Two hosts of four chips; the API is at ``endpoint``."""
    hosts = [
        {"name": f"pod-w{n}", "worker": n, "slice": None, "internal_ip": f"10.9.0.{n + 2}", "external_ip": None}
        for n in range(2)
    ]
    pod = {
        "name": "pod",
        "node": "pod",
        "zone": "us-west4-a",
        "accelerator_type": "v5litepod-8",
        "runtime_version": "v2-alpha-tpuv5-lite",
        "provisioning_model": "spot",
        "generation": "v5e",
        "topology": "2x4",
        "chips": 8,
        "chips_per_host": 4,
        "devices": 8,
        "slices": 1,
        "jax_environment": {"JAX_PLATFORMS": "cpu"},
        "hosts": hosts,
    }
    place = {"name": "dev-bastion", "zone": "us-west4-a", "internal_ip": "10.9.0.9"}
    access = {
        "mode": "bastion" if bastion else "direct",
        "bastion": place if bastion else None,
        "users": [{"name": "nixie", "keys": ["ssh-ed25519 AAAA nixie"], "key_files": [key_file]}],
    }
    cloud = {
        "project": PROJECT,
        "tpu_endpoint": f"{endpoint}/v2alpha1/",
        "compute_endpoint": f"{endpoint}/compute/beta/",
        "iap_endpoint": f"{endpoint.replace('http', 'ws')}/v4",
        "packages": {},
    }
    return {"pods": {"pod": pod}, "access": access, "storage": {}, "cloud": cloud}


def make_stack(project: Path, exports: dict[str, Any] | None) -> dict[str, str]:
    """A project with the stack dev in a file backend; the variables with which to use it."""
    backend = project / "backend"
    backend.mkdir(parents=True)
    (project / "Pulumi.yaml").write_text("name: tpuwright\nruntime: python\n")
    variables = {
        "PULUMI_BACKEND_URL": backend.as_uri(),
        "PULUMI_CONFIG_PASSPHRASE": "test",
        "PULUMI_STACK": "dev",
        "GOOGLE_OAUTH_ACCESS_TOKEN": "secret",
    }
    environment = {**os.environ, **variables}

    def pulumi(*arguments: str, given: str | None = None) -> None:
        command = [str(find_engine()), *arguments, "--non-interactive"]
        subprocess.run(command, cwd=project, env=environment, input=given, text=True, check=True, capture_output=True)

    pulumi("stack", "init", "dev", "--no-select")
    if exports is not None:
        root = "urn:pulumi:dev::tpuwright::pulumi:pulumi:Stack::tpuwright-dev"
        node = {"name": "pod"}
        provider = "urn:pulumi:dev::tpuwright::pulumi:providers:gcp::default"
        resources = [
            {"urn": root, "custom": False, "type": "pulumi:pulumi:Stack", "outputs": exports},
            {"urn": provider, "custom": True, "id": "p1", "type": "pulumi:providers:gcp", "inputs": {}, "outputs": {}},
            {
                "urn": NODE_URN,
                "custom": True,
                "id": f"projects/{PROJECT}/locations/us-west4-a/nodes/pod",
                "type": "gcp:tpu/v2Vm:V2Vm",
                "inputs": node,
                "outputs": node,
                "provider": f"{provider}::p1",
            },
        ]
        manifest = {"time": "2026-01-01T00:00:00Z", "magic": "", "version": ""}
        deployment = {"version": 3, "deployment": {"manifest": manifest, "resources": resources}}
        pulumi("stack", "import", "--stack", "dev", given=json.dumps(deployment))
    return variables
