"""How doctor asks, and how it answers."""

from __future__ import annotations

import io
import json
import threading
from pathlib import Path

import pytest
from rich.console import Console

from tpuwright.cloud.errors import CloudError
from tpuwright.doctor.check import Check, Finding, Status, failed, ok, warning
from tpuwright.doctor.examine import examine
from tpuwright.doctor.permissions import PERMISSIONS, missing_roles
from tpuwright.doctor.pulumi_checks import secrets_finding
from tpuwright.doctor.quota import Limit, limits_of, shortage
from tpuwright.doctor.stack_configuration import StackConfiguration, read_configuration
from tpuwright.doctor.table import any_failed, as_json, as_table, summary
from tpuwright.errors import TpuwrightError
from tpuwright.settings.pod import PodSettings


def check(name: str, finding: Finding, after: tuple[str, ...] = ()) -> Check:
    return Check(name, f"why {name}", lambda: finding, after)


def pod(accelerator_type: str, *zones: str, provisioning_model: str = "standard") -> PodSettings:
    text = json.dumps(
        {
            "name": "pod",
            "zones": zones or ("us-west4-a",),
            "accelerator_type": accelerator_type,
            "provisioning_model": provisioning_model,
        }
    )
    return PodSettings.model_validate_json(text)


def test_a_check_is_not_asked_where_what_it_needs_has_failed() -> None:
    findings = examine(
        [
            check("a", failed("broken", "mend")),
            check("b", ok("fine"), ("a",)),
            check("c", ok("fine"), ("b",)),
            check("d", ok("fine")),
        ]
    )
    assert [finding.status for _, finding in findings] == [Status.FAILED, Status.SKIPPED, Status.SKIPPED, Status.OK]
    assert findings[1][1].found == "not asked, as it needs: a"


def test_a_warning_does_not_stop_the_checks_that_build_on_it() -> None:
    findings = examine([check("a", warning("old", "renew")), check("b", ok("fine"), ("a",))])
    assert findings[1][1].status is Status.OK
    assert not any_failed(findings)


def test_checks_run_at_the_same_time() -> None:
    both = threading.Barrier(2, timeout=20)

    def meet() -> Finding:
        both.wait()
        return ok("met")

    assert [finding.found for _, finding in examine([Check("a", "", meet), Check("b", "", meet)])] == ["met", "met"]


@pytest.mark.parametrize(
    "error", [CloudError("network", "It is closed: open it."), TpuwrightError("It is closed: open it.")]
)
def test_an_error_of_ours_is_a_finding_with_its_remedy(error: Exception) -> None:
    def fail() -> Finding:
        raise error

    finding = examine([Check("a", "", fail)])[0][1]
    assert (finding.status, finding.found, finding.remedy) == (Status.FAILED, "It is closed", "open it.")


def test_a_check_that_breaks_does_not_hide_the_others() -> None:
    def fail() -> Finding:
        raise KeyError("oops")

    findings = examine([Check("a", "", fail), check("b", ok("fine"))])
    assert findings[0][1].found == "the check itself failed: KeyError: 'oops'"
    assert findings[1][1].status is Status.OK


def test_the_table_and_the_json_tell_the_same() -> None:
    findings = examine([check("Docker", failed("none answers", "make setup")), check("Disk", ok("74 GB free"))])
    output = io.StringIO()
    Console(file=output, width=100).print(as_table(findings))
    assert "→ make setup" in output.getvalue()
    assert "74 GB free" in output.getvalue()
    told = as_json("rehearsal", findings)
    assert (told["ok"], told["stack"]) == (False, "rehearsal")
    assert told["checks"][0] == {
        "name": "Docker",
        "why": "why Docker",
        "status": "failed",
        "found": "none answers",
        "remedy": "make setup",
    }
    assert summary(findings) == "1 of 2 checks failed."


def metric(name: str, *buckets: tuple[int, dict[str, str]]) -> dict[str, object]:
    quota_buckets = [{"effectiveLimit": str(limit), "dimensions": where} for limit, where in buckets]
    return {"metric": f"tpu.googleapis.com/{name}", "consumerQuotaLimits": [{"quotaBuckets": quota_buckets}]}


V5E = metric("TPUV5sLitepodPerProjectPerZoneForTPUAPI", (4, {}), (32, {"zone": "us-west4-a"}))
V5E_SPOT = metric("TPUV5sPreemptibleLitepodPerProjectPerZoneForTPUAPI", (8, {}))
SERVING = metric("TPUV5sLitepodServingPerProjectPerZoneForTPUAPI", (1, {}))
V5P = metric("TPUV5PPerProjectPerZoneForTPUAPI", (128, {}))
LIMITS = limits_of([V5E, V5E_SPOT, SERVING, V5P])


def test_a_zones_own_limit_replaces_the_general_one() -> None:
    assert shortage(pod("v5litepod-16", "us-west4-a"), LIMITS) is None
    assert shortage(pod("v5litepod-16", "us-west1-c"), LIMITS) == (
        "pod pod needs 16 of the on-demand quota for v5e, and the limit is 4 in us-west1-c"
    )


def test_one_zone_with_enough_is_enough() -> None:
    assert shortage(pod("v5litepod-16", "us-west1-c", "us-west4-a"), LIMITS) is None


def test_spot_counts_against_the_preemptible_quota_only() -> None:
    problem = shortage(pod("v5litepod-16", "us-west4-a", provisioning_model="spot"), LIMITS)
    assert problem is not None
    assert "16 of the spot quota for v5e, and the limit is 8" in problem


def test_v5p_is_not_taken_for_v5e_and_counts_cores() -> None:
    assert shortage(pod("v5p-128", "us-east5-a"), LIMITS) is None
    assert shortage(pod("v5p-256", "us-east5-a"), LIMITS) is not None


def test_a_generation_that_no_limit_names_is_said_to_be_unknown() -> None:
    assert shortage(pod("v6e-8", "us-east5-a"), LIMITS) == (
        "no on-demand quota for v6e is among the project's limits (pod pod)"
    )


def test_minus_one_is_no_limit() -> None:
    assert shortage(pod("v6e-256", "us-east5-a"), [Limit("TPUV6EPerProjectPerZone", "", -1)]) is None


def test_missing_permissions_are_named_by_the_role_that_holds_them() -> None:
    assert missing_roles(["iap.tunnelInstances.accessViaIAP", "tpu.nodes.create", "tpu.nodes.get"]) == [
        "roles/tpu.admin",
        "roles/iap.tunnelResourceAccessor",
    ]
    assert len(PERMISSIONS) == len(set(PERMISSIONS)) <= 100


def configuration(**document: str) -> StackConfiguration:
    return StackConfiguration(Path("Pulumi.x.yaml"), {}, dict(document))


@pytest.mark.parametrize(
    ("document", "backend", "found"),
    [
        ({"secretsprovider": "gcpkms://projects/p/k?x=1"}, "gs://b", "gcpkms://projects/p/k"),
        ({}, "https://app.pulumi.com/me", "Pulumi Cloud's own"),
    ],
)
def test_a_provider_that_holds_its_own_key_is_fine(document: dict[str, str], backend: str, found: str) -> None:
    assert secrets_finding(configuration(**document), backend) == ok(found)


def test_a_passphrase_has_to_be_at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PULUMI_CONFIG_PASSPHRASE", raising=False)
    monkeypatch.delenv("PULUMI_CONFIG_PASSPHRASE_FILE", raising=False)
    salted = configuration(encryptionsalt="v1:salt")
    assert "no passphrase is set" in secrets_finding(salted, "file:///state").found
    file = tmp_path / "passphrase"
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE_FILE", str(file))
    assert f"{file}, which does not exist" in secrets_finding(salted, "file:///state").found
    file.write_text("x")
    assert secrets_finding(salted, "file:///state").status is Status.OK
    assert secrets_finding(salted, "https://app.pulumi.com").found == f"a passphrase, from {file}"


def test_a_stack_file_is_read_as_pulumi_hands_it_to_a_program(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.x.yaml").write_text("config:\n  gcp:project: p\n  tpuwright:pods: [{name: pod}]\n")
    found = read_configuration(tmp_path, "owner/project/x")
    assert found.config == {"gcp:project": "p", "tpuwright:pods": '[{"name": "pod"}]'}


@pytest.mark.parametrize(
    ("text", "message"),
    [(None, "Pulumi.x.yaml is missing"), ("a: [", "cannot be read"), ("just text", "has no mapping `config`")],
)
def test_a_stack_file_that_cannot_be_used_is_said_in_one_sentence(
    tmp_path: Path, text: str | None, message: str
) -> None:
    if text is not None:
        (tmp_path / "Pulumi.x.yaml").write_text(text)
    with pytest.raises(TpuwrightError, match=message) as refusal:
        read_configuration(tmp_path, "x")
    assert "\n" not in str(refusal.value)
