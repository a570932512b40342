"""gcloud as a judge, where it is installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from emulated_cloud import PROJECT, TOKEN, Live

pytestmark = [
    pytest.mark.gcloud,
    pytest.mark.skipif(shutil.which("gcloud") is None, reason="gcloud is not installed"),
]
CREATE = ("--accelerator-type", "v5litepod-16", "--network", "net", "--subnetwork", "sub")


class Gcloud:
    """Runs gcloud against an emulator, with nothing of this machine's own configuration."""

    def __init__(self, cloud: Live, directory: Path) -> None:
        token = directory / "token"
        token.write_text(TOKEN, encoding="ascii")
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "CLOUDSDK_CONFIG": str(directory / "gcloud"),
            "CLOUDSDK_CORE_PROJECT": PROJECT,
            "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
            "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "1",
            "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK": "1",
            "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE": str(token),
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU": f"{cloud.endpoint}/",
        }

    def __call__(self, *words: str, group: str = "tpu-vm", track: tuple[str, ...] = ()) -> Any:
        """The JSON that a command prints; a failure is a `Refused`."""
        command = ["gcloud", *track, "compute", "tpus", group, *words, "--zone", "us-west4-a", "--format", "json"]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode:
            raise Refused(done.stderr)
        return json.loads(done.stdout) if done.stdout.strip() else None


class Refused(Exception):
    """What gcloud wrote to stderr."""


@pytest.fixture
def gcloud(vpc: Live, tmp_path: Path) -> Gcloud:
    return Gcloud(vpc, tmp_path)


def test_gcloud_creates_lists_describes_updates_and_deletes_a_pod(gcloud: Gcloud) -> None:
    version = ("--version", "v2-alpha-tpuv5-lite")
    gcloud("create", "pod", *CREATE, *version, "--spot", "--internal-ips", "--metadata", "a=b")
    described = gcloud("describe", "pod")
    assert (described["state"], described["schedulingConfig"]) == ("READY", {"spot": True})
    assert [node["name"] for node in gcloud("list")] == [described["name"]]
    gcloud("update", "pod", "--update-labels", "team=a", "--add-tags", "fresh")
    assert gcloud("describe", "pod")["tags"] == ["fresh"]
    with pytest.raises(Refused, match="already exists"):
        gcloud("create", "pod", *CREATE, *version)
    gcloud("delete", "pod")
    assert gcloud("list") == []


def test_gcloud_tells_a_stockout_as_it_does_at_google(gcloud: Gcloud, vpc: Live) -> None:
    vpc.http.patch("/_emulator/settings", json={"capacity": {"*": 0}})
    with pytest.raises(Refused, match=r'"code": 8,\s+"message": "There is no more capacity in the zone'):
        gcloud("create", "pod", *CREATE, "--version", "v2-alpha-tpuv5-lite")


def test_gcloud_queues_and_deletes_a_request(gcloud: Gcloud) -> None:
    runtime = ("--runtime-version", "v2-alpha-tpuv5-lite", "--valid-until-duration", "1h")
    options = {"group": "queued-resources"}
    gcloud("create", "qr", "--node-id", "n", *CREATE, *runtime, "--spot", **options)
    described = gcloud("describe", "qr", **options)
    assert described["tpu"]["nodeSpec"][0]["nodeId"] == "n"
    assert [queued["name"] for queued in gcloud("list", **options)] == [described["name"]]
    gcloud("delete", "qr", "--force", **options)
    assert gcloud("list", **options) == []


def test_gclouds_alpha_track_reads_what_the_stable_one_made(gcloud: Gcloud) -> None:
    gcloud("create", "pod", *CREATE, "--version", "v2-alpha-tpuv5-lite")
    alpha = gcloud("describe", "pod", track=("alpha",))
    assert (alpha["state"], alpha["apiVersion"]) == ("READY", "V2_ALPHA1")
