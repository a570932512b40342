"""Who and what is blamed for which evidence."""

from __future__ import annotations

import pytest
from example_evidence import evidence, joined

from tpuwright.report.build import build, failures, verdict
from tpuwright.report.evidence import NodeEvidence, PodEvidence
from tpuwright.report.model import Check, Report, Status

URN = "urn:pulumi:dev::tpuwright::gcp:tpu/v2Vm:V2Vm::pod"


def judged(pod: PodEvidence) -> Report:
    return build("dev", [pod])


def failed(pod: PodEvidence, id: str) -> list[Check]:
    return [check for check in failures(judged(pod)) if check.id == id]


def test_a_pod_on_which_all_went_well_passes() -> None:
    report = judged(evidence())
    assert report.status is Status.PASS
    assert verdict(report) == ""
    assert report.summary == "Pod pod works: 16 devices in 4 processes on 4 hosts added up right."
    assert report.pods[0].hosts[3].devices == [12, 13, 14, 15]


def lose_host(state: str) -> PodEvidence:
    pod = evidence()
    pod.hosts[2].unreachable = "Make sure this host can be reached over ssh: ssh: connect to host: No route to host"
    pod.hosts[2].facts = pod.hosts[2].joined = None
    for host in pod.hosts:
        host.joined = None
    pod.not_launched = "not launched, as pod-w2 cannot take part"
    pod.node = NodeEvidence(state=state, urn=URN)
    return pod


def test_a_dead_host_of_a_ready_node_means_replacing_the_slice_by_its_urn() -> None:
    sentence = verdict(judged(lose_host("READY")))
    assert sentence.startswith("pod-w2, Reachable: does not answer (ssh: connect to host: No route to host)")
    assert f"`pulumi up --replace '{URN}'`" in sentence
    assert "cannot be replaced alone" in sentence


def test_a_dead_host_under_repair_means_waiting() -> None:
    sentence = verdict(judged(lose_host("REPAIRING")))
    assert "`tpuwright wait pod`" in sentence
    assert "--replace" not in sentence


def test_a_preempted_pod_means_pulumi_up() -> None:
    assert "run `pulumi up`, which replaces the pod" in verdict(judged(lose_host("PREEMPTED")))


@pytest.mark.parametrize(
    ("spoilt", "words"),
    [
        (joined(2, until=""), "its process never started"),
        (joined(2, until="started"), "stuck importing jax"),
        (joined(2, until="imported", state="T"), "its process is stopped (state T), in jax.distributed.initialize()"),
        (
            joined(2, until="started", ended="exit", status=1, output="Traceback\n  x\nImportError: no libtpu"),
            "its process failed: ImportError: no libtpu",
        ),
        (joined(2, until="imported", ended="signal", status=-9), "its process was killed (signal 9)"),
    ],
)
def test_only_the_host_that_did_not_join_is_blamed(spoilt: object, words: str) -> None:
    pod = evidence()
    for host in pod.hosts:
        host.joined = joined(host.worker, until="imported", ended="signal", status=-6, output="DEADLINE_EXCEEDED")
    pod.hosts[2].joined = spoilt  # type: ignore[assignment]
    found = failed(pod, "join")
    assert [check.host for check in found] == ["pod-w2"]
    assert words in found[0].found
    assert "within 60 s" in found[0].expected
    waiting = [check for check in judged(pod).pods[0].checks if check.id == "join" and check.status is Status.SKIP]
    assert all(check.found.endswith("for pod-w2") for check in waiting)
    assert len(waiting) == 3


def test_a_host_that_dies_in_the_launch_is_blamed() -> None:
    pod = evidence()
    for host in pod.hosts:
        host.joined = joined(host.worker, until="imported")
    pod.hosts[1].joined, pod.hosts[1].unreachable = None, "timed out"
    assert [(check.host, check.found) for check in failed(pod, "join")] == [
        ("pod-w1", "did not join: host unreachable during the launch")
    ]


def test_when_all_wait_nobody_is_singled_out_and_the_coordinators_port_is_named() -> None:
    pod = evidence()
    for host in pod.hosts:
        host.joined = joined(host.worker, until="imported")
    found = failed(pod, "join")
    assert len(found) == 4
    assert "pod-w0 on 8482" in found[0].remedy


@pytest.mark.parametrize(("count", "local"), [(12, 3), (8, 2)])
def test_missing_devices_are_counted(count: int, local: int) -> None:
    pod = evidence()
    for host in pod.hosts:
        line = host.joined.passed("devices") if host.joined else None
        assert line is not None
        line["count"] = count
    line = pod.hosts[1].joined and pod.hosts[1].joined.passed("devices")
    assert line
    line["local"] = list(range(local))
    assert [check.found for check in failed(pod, "devices")] == [str(count)]
    assert [check.found for check in failed(pod, "own_devices")] == [f"{local} on pod-w1"]


def test_a_wrong_sum_is_a_failure_with_the_right_one() -> None:
    pod = evidence()
    line = pod.hosts[3].joined and pod.hosts[3].joined.passed("sum")
    assert line
    line["found"] = [135, 136]
    (check,) = failed(pod, "sum")
    assert check.expected == "136"
    assert "135" in check.found
    assert "pod-w3" in check.found


def test_another_platform_than_expected_is_a_failure() -> None:
    pod = evidence()
    pod.pod = pod.pod.model_copy(update={"jax_environment": {}})
    (check,) = failed(pod, "platform")
    assert (check.expected, check.found) == ("tpu", "cpu")


def test_the_host_with_another_version_is_named() -> None:
    pod = evidence()
    assert pod.hosts[1].facts
    pod.hosts[1].facts.versions["jax"] = "0.9.0"
    (check,) = failed(pod, "versions")
    assert check.found.startswith("pod-w1 has jax 0.9.0; the others have jax 0.10.2")


def test_each_fact_of_a_host_is_judged() -> None:
    pod = evidence()
    spoilt = pod.hosts[0].facts
    assert spoilt
    spoilt.vfio = 3
    spoilt.disk = {"/": 1_000_000_000}
    spoilt.clock.offset = -60
    spoilt.pod = None
    spoilt.users = [{"pid": 7, "command": "python train.py"}]
    found = {check.id: check.found for check in failures(judged(pod)) if check.host == "pod-w0"}
    assert found == {
        "device_nodes": "3 of /dev/vfio/N",
        "disk": "1.0 GB free on /",
        "clock": "off by at least 59.7 s",
        "pod_file": "no such file",
        "tpu_free": "python train.py (pid 7)",
    }


def test_a_slow_connection_is_not_taken_for_a_wrong_clock() -> None:
    pod = evidence()
    assert pod.hosts[0].facts
    pod.hosts[0].facts.clock.offset, pod.hosts[0].facts.clock.uncertainty = 4.0, 5.0
    assert failed(pod, "clock") == []


def test_without_hugepages_a_tpu_warns_and_a_cpu_does_not() -> None:
    pod = evidence()
    for host in pod.hosts:
        assert host.facts
        host.facts.hugepages = "madvise"
    assert judged(pod).status is Status.PASS
    pod.pod = pod.pod.model_copy(update={"jax_environment": {}})
    assert [check.status for check in judged(pod).pods[0].checks if check.id == "hugepages"] == [Status.WARN] * 4


def test_check_mode_proves_nothing_and_says_so() -> None:
    pod = evidence()
    pod.not_launched = "not launched in check mode"
    report = judged(pod)
    assert report.status is Status.SKIP
    assert verdict(report) == ""
    assert "not launched in check mode" in report.summary


def test_a_dead_host_is_one_sentence_although_it_fails_in_two_checks() -> None:
    pod = lose_host("READY")
    pod.not_launched = ""
    for host in pod.hosts:
        host.joined = None if host.name == "pod-w2" else joined(host.worker, until="imported")
    assert len(failures(judged(pod))) == 2
    assert verdict(judged(pod)).count("pod-w2,") == 1


def test_fewer_devices_with_a_right_sum_are_no_wrong_sum() -> None:
    pod = evidence()
    for host in pod.hosts:
        for phase, changed in (("devices", {"count": 14}), ("sum", {"expected": 105, "found": [105]})):
            line = host.joined.passed(phase) if host.joined else None
            assert line is not None
            line.update(changed)
    assert [check.id for check in failures(judged(pod))] == ["devices"]


def test_a_dead_host_that_the_cloud_has_noticed_may_be_repaired_or_replaced() -> None:
    pod = lose_host("READY")
    pod.node.health, pod.node.description = "TIMEOUT", "Worker 2 does not answer."
    sentence = verdict(judged(pod))
    assert "may repair pod-w2" in sentence
    assert f"`pulumi up --replace '{URN}'`" in sentence
