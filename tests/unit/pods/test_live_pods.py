"""The clients over google-api-python-client, and waiting, against a server on this machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from api_server import Api
from example_stack import key_of, outputs

from tpuwright.cloud.errors import CloudError
from tpuwright.live import Cloud, NotReady
from tpuwright.outputs import StackOutputs


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", "secret")
    with Api().running() as running:
        yield running


def cloud(api: Api) -> Cloud:
    return Cloud(StackOutputs.model_validate(outputs(api.endpoint)))


def test_a_ready_pod_has_addresses_and_only_well_formed_host_keys(api: Api) -> None:
    now = cloud(api).wait(0, print)
    hosts = now.pods["pod"].hosts
    assert [(host.name, host.internal_ip) for host in hosts] == [("pod-w0", "10.9.0.2"), ("pod-w1", "10.9.0.3")]
    assert [[(key.algorithm, key.key) for key in host.keys] for host in hosts] == [
        [("ssh-ed25519", key_of("pod-w0"))],
        [("ssh-ed25519", key_of("pod-w1"))],
    ]
    assert [key.key for key in now.bastion_keys] == [key_of("bastion")]


def test_a_pod_under_repair_is_waited_for_and_said_once(api: Api) -> None:
    api.states = ["REPAIRING", "REPAIRING", "READY"]
    said: list[str] = []
    now = cloud(api).wait(30, said.append, poll=0.01)
    assert now.pods["pod"].state == "READY"
    assert len(said) == 1
    assert "Pod pod is REPAIRING" in said[0]


def test_waiting_ends_at_its_limit_with_the_state_and_what_to_do(api: Api) -> None:
    api.states = ["REPAIRING"]
    with pytest.raises(NotReady, match=r"REPAIRING.*waited for 0 s.*tpuwright wait"):
        cloud(api).wait(0.05, print, poll=0.02)


@pytest.mark.parametrize(
    ("state", "words"),
    [("PREEMPTED", "pulumi up"), ("STOPPED", "gcloud compute tpus tpu-vm start"), ("UNKNOWN", "pulumi up --replace")],
)
def test_a_state_that_does_not_lead_to_ready_is_not_waited_for(api: Api, state: str, words: str) -> None:
    api.states = [state]
    with pytest.raises(NotReady) as error:
        cloud(api).wait(600, print)
    assert state in str(error.value)
    assert words in str(error.value)


def test_a_pod_that_somebody_deleted_is_one_sentence(api: Api) -> None:
    api.gone = True
    with pytest.raises(NotReady, match=r"deleted outside of Pulumi.*pulumi refresh"):
        cloud(api).wait(600, print)


def test_host_keys_that_come_late_are_waited_for(api: Api) -> None:
    api.published["pod-w1"] = False
    api.publish_at = 6
    said: list[str] = []
    cloud(api).wait(30, said.append, poll=0.01)
    assert "pod-w1 of pod pod has not published ssh host keys" in said[0]


def test_host_keys_that_never_come_end_the_wait_naming_the_host(api: Api) -> None:
    api.published["pod-w1"] = False
    with pytest.raises(NotReady, match=r"pod-w1.*enable-guest-attributes"):
        cloud(api).wait(0.05, print, poll=0.02)


def test_trouble_of_the_api_that_passes_is_not_noticed(api: Api) -> None:
    api.failures = [(503, "The service is currently unavailable."), (429, "Too Many Requests")]
    assert cloud(api).wait(0, print).pods["pod"].state == "READY"


def test_an_exhausted_quota_is_not_asked_again(api: Api) -> None:
    api.failures = [(429, "Quota limit 'X' has been exceeded.")] * 5
    with pytest.raises(CloudError, match="quota X is used up"):
        cloud(api).wait(0, print)
    assert len(api.questions) == 1


def test_a_wrong_token_says_how_to_get_another(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", "old")
    with pytest.raises(CloudError, match="gcloud auth application-default login"):
        cloud(api).wait(0, print)


def test_an_api_that_is_not_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", "secret")
    with pytest.raises(CloudError, match="cannot be reached from this machine"):
        Cloud(StackOutputs.model_validate(outputs())).wait(0, print)
