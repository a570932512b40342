"""Google's gcloud, pointed at the emulator by its own endpoint overrides, works as its user expects."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.gcloud,
    pytest.mark.skipif(shutil.which("gcloud") is None, reason="gcloud is not installed on this machine"),
]
Gcloud = Callable[..., Any]
EMAIL = "pod-sa@demo-proj.iam.gserviceaccount.com"
REGION, ZONE = "--region=us-west4", "--zone=us-west4-a"


@pytest.fixture
def gcloud(live: Any, tmp_path: Path) -> Gcloud:
    """Runs gcloud; returns its JSON, or with `fails=True` the error that it must end with."""
    token = tmp_path / "token"
    token.write_text(live.http.headers["Authorization"].removeprefix("Bearer "), encoding="ascii")
    environment = {
        **{key: value for key, value in os.environ.items() if "proxy" not in key.lower()},
        "CLOUDSDK_CONFIG": str(tmp_path / "config"),
        "CLOUDSDK_CORE_PROJECT": "demo-proj",
        "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
        "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "1",
        "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK": "1",
        "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE": str(token),
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE": f"{live.endpoint}/compute/v1/",
        **{
            f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{service}": f"{live.endpoint}/"
            for service in ("IAM", "CLOUDRESOURCEMANAGER", "SERVICEUSAGE")
        },
    }

    def run(command: str, *more: str, fails: bool = False) -> Any:
        words = ["gcloud", *command.split(), *more, "--format=json"]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120, check=False)
        if fails:
            assert done.returncode != 0, done.stdout
            return done.stderr
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout.strip() else None

    return run


def test_a_network_is_made_used_refused_and_deleted(gcloud: Gcloud, live: Any) -> None:
    gcloud("compute networks create net --subnet-mode=custom")
    gcloud(f"compute networks subnets create sub --network=net {REGION} --range=10.200.0.0/24")
    gcloud("compute firewall-rules create iap --network=net --allow=tcp:22 --source-ranges=35.235.240.0/20")
    gcloud(f"compute routers create rt --network=net {REGION}")
    gcloud(
        f"compute routers nats create nat --router=rt {REGION} "
        "--auto-allocate-nat-external-ips --nat-all-subnet-ip-ranges"
    )
    gcloud(f"compute networks subnets expand-ip-range sub {REGION} --prefix-length=20")
    gcloud(f"compute networks subnets update sub {REGION} --enable-flow-logs")
    shown = gcloud(f"compute networks subnets describe sub {REGION}")
    assert (shown["ipCidrRange"], shown["enableFlowLogs"]) == ("10.200.0.0/20", True)
    assert "is already being used by" in gcloud("compute networks delete net", fails=True)
    gcloud(f"compute routers delete rt {REGION}")
    gcloud("compute firewall-rules delete iap")
    gcloud(f"compute networks subnets delete sub {REGION}")
    gcloud("compute networks delete net")
    assert "items" not in live.http.get("/compute/v1/projects/demo-proj/global/networks").json()
    assert live.run(live.cloud.hosts.leftovers()) == []


def test_an_instance_lives_and_leaves_nothing(gcloud: Gcloud, vpc: Any) -> None:
    made = gcloud(
        f"compute instances create bastion {ZONE} --machine-type=e2-micro --subnet=sub --no-address --tags=bastion "
        "--image-family=debian-12 --image-project=debian-cloud --metadata=enable-guest-attributes=TRUE"
    )
    assert made[0]["status"] == "RUNNING"
    gcloud(f"compute instances add-tags bastion {ZONE} --tags=jump")
    gcloud(f"compute instances add-metadata bastion {ZONE} --metadata=a=b")
    gcloud(f"compute instances stop bastion {ZONE}")
    gcloud(f"compute instances start bastion {ZONE}")
    shown = gcloud("compute instances list")[0]
    assert shown["tags"]["items"] == ["bastion", "jump"]
    assert {"key": "a", "value": "b"} in shown["metadata"]["items"]
    assert "is already being used by" in gcloud(f"compute disks delete bastion {ZONE}", fails=True)
    gcloud(f"compute instances delete bastion {ZONE}")
    assert "items" not in vpc.http.get("/compute/v1/projects/demo-proj/zones/us-west4-a/disks").json()
    assert vpc.cloud.hosts.specs == {}


def test_a_list_is_filtered_by_the_expression_that_gcloud_makes(gcloud: Gcloud) -> None:
    assert [one["name"] for one in gcloud("compute zones list --filter=name=us-west4-a")] == ["us-west4-a"]


def test_accounts_are_bound_in_the_policy_and_services_enabled(gcloud: Gcloud) -> None:
    gcloud("iam service-accounts create pod-sa --display-name=pod")
    role = "--role=roles/logging.logWriter --condition=None"
    policy = gcloud(f"projects add-iam-policy-binding demo-proj --member=serviceAccount:{EMAIL} {role}")
    assert policy["bindings"] == [{"role": "roles/logging.logWriter", "members": [f"serviceAccount:{EMAIL}"]}]
    policy = gcloud(f"projects remove-iam-policy-binding demo-proj --member=serviceAccount:{EMAIL} {role}")
    assert "bindings" not in policy
    assert "Key creation is not allowed" in gcloud(
        f"iam service-accounts keys create /dev/null --iam-account={EMAIL}", fails=True
    )
    gcloud(f"iam service-accounts delete {EMAIL}")
    gcloud("services enable file.googleapis.com")
    enabled = {one["config"]["name"] for one in gcloud("services list --enabled")}
    assert {"file.googleapis.com", "tpu.googleapis.com"} <= enabled
    refused = gcloud("services disable compute.googleapis.com", fails=True)
    assert "is depended on by the following active service(s): tpu.googleapis.com" in refused
