"""Doctor's questions to Google, asked of the embedded cloud by the same clients."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn
import yaml

from rehearsal.emulator.app import create_app
from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.settings import ApiFault, Quota
from tpuwright.doctor import google_checks
from tpuwright.doctor.check import Finding, Status
from tpuwright.doctor.examine import examine
from tpuwright.doctor.google_checks import APIS, CREDENTIALS, OFFER, PROJECT, QUOTA, ROLES, GoogleChecks

TOKEN = "a-token-for-tests"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINDHEPr4wDZbRZTg9YFhi/6KssWZISLxVq2Of/m+rDdL researcher"


@pytest.fixture
def endpoint(cloud: Cloud) -> Iterator[str]:
    """The embedded cloud on a port of its own."""
    server = uvicorn.Server(uvicorn.Config(create_app(cloud), port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    end = time.monotonic() + 20
    while not server.started:
        assert thread.is_alive(), "the embedded cloud did not start"
        assert time.monotonic() < end, "the embedded cloud did not start within 20 s"
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(timeout=20)


@pytest.fixture
def stack(cloud: Cloud, endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project directory with a stack `x` whose endpoints are the embedded cloud's."""
    monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", TOKEN)
    config = {
        "gcp:project": cloud.project,
        "gcp:tpuV2CustomEndpoint": f"{endpoint}/v2alpha1/",
        "gcp:resourceManagerCustomEndpoint": f"{endpoint}/v1/",
        "gcp:serviceUsageCustomEndpoint": f"{endpoint}/v1/",
        "tpuwright:pods": [{"name": "pod", "zones": ["us-west4-a"], "accelerator_type": "v5litepod-16"}],
        "tpuwright:access": {"users": [{"name": "researcher", "keys": [KEY]}]},
    }
    write(tmp_path, config)
    return tmp_path


def write(project: Path, config: dict[str, object]) -> None:
    (project / "Pulumi.x.yaml").write_text(yaml.safe_dump({"config": config}))


def change(project: Path, **values: object) -> None:
    config = yaml.safe_load((project / "Pulumi.x.yaml").read_text())["config"]
    write(project, config | {name.replace("__", ":"): value for name, value in values.items()})


def findings(project: Path) -> dict[str, Finding]:
    return {check.name: finding for check, finding in examine(GoogleChecks("x", project).checks())}


def test_a_project_that_has_all_is_found_to_have_all(stack: Path, cloud: Cloud) -> None:
    found = findings(stack)
    fine = {name for name, finding in found.items() if finding.status is Status.OK}
    assert fine == {CREDENTIALS, PROJECT, APIS, ROLES, OFFER, QUOTA}, found
    assert found[PROJECT].found.startswith(cloud.project)


def test_a_quota_that_cannot_be_read_is_a_warning_with_the_page_that_shows_it(stack: Path, cloud: Cloud) -> None:
    cloud.settings.faults.api = [ApiFault(methods="*.consumerQuotaMetrics.list", http_code=403)]
    quota = findings(stack)[QUOTA]
    assert quota.status is Status.WARNING
    assert f"project={cloud.project}" in quota.remedy


@pytest.mark.parametrize(("generation", "kind"), [("v5e", "v5litepod-16"), ("v5p", "v5p-8"), ("v4", "v4-8")])
@pytest.mark.parametrize(("tier", "words"), [("standard", "on-demand"), ("spot", "spot")])
def test_too_small_a_quota_is_found_for_the_tier_that_the_pod_asks_for(
    stack: Path, cloud: Cloud, generation: str, kind: str, tier: str, words: str
) -> None:
    asked = {"name": "pod", "zones": ["us-west4-a"], "accelerator_type": kind, "provisioning_model": tier}
    change(stack, tpuwright__pods=[asked])
    other = "spot" if tier == "standard" else "standard"
    cloud.settings.quota = [Quota(generation=generation, tier=other, chips=0)]
    assert findings(stack)[QUOTA].status is Status.OK
    cloud.settings.quota = [Quota(generation=generation, tier=tier, chips=2)]
    quota = findings(stack)[QUOTA]
    assert quota.status is Status.WARNING
    assert f"{words} quota for {generation}" in quota.found


def test_a_token_that_is_not_accepted_is_named_and_nothing_else_is_asked(
    stack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", "expired")
    found = findings(stack)
    assert found[PROJECT].status is Status.FAILED
    assert "gcloud auth application-default login" in found[PROJECT].remedy
    assert {found[name].status for name in (APIS, ROLES, OFFER, QUOTA)} == {Status.SKIPPED}


def test_a_project_that_is_not_ours_is_a_failure(stack: Path) -> None:
    change(stack, gcp__project="somebody-elses")
    assert findings(stack)[PROJECT].status is Status.FAILED


def test_an_api_that_is_not_enabled_is_named_with_the_command_that_enables_it(
    stack: Path, cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(google_checks, "NEEDED_APIS", ("compute.googleapis.com", "file.googleapis.com"))
    apis = findings(stack)[APIS]
    assert apis.status is Status.FAILED
    assert apis.remedy == f"gcloud services enable file.googleapis.com --project {cloud.project}"


def test_a_type_that_the_zone_does_not_offer_is_named(stack: Path) -> None:
    change(stack, tpuwright__pods=[{"name": "pod", "zones": ["us-central2-b"], "accelerator_type": "v5litepod-16"}])
    offer = findings(stack)[OFFER]
    assert (offer.status, offer.found) == (Status.FAILED, "not on offer: v5litepod-16 in us-central2-b")


def test_an_api_that_fails_for_a_moment_is_asked_again(stack: Path, cloud: Cloud) -> None:
    cloud.settings.faults.api = [ApiFault(methods="tpu.*", http_code=503, times=1)]
    assert findings(stack)[OFFER].status is Status.OK


def test_nothing_that_listens_is_said_in_one_sentence(stack: Path) -> None:
    change(stack, gcp__resourceManagerCustomEndpoint="http://127.0.0.1:9/v1/")
    project = findings(stack)[PROJECT]
    assert project.status is Status.FAILED
    assert "\n" not in project.found + project.remedy
