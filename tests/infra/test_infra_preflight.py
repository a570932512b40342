"""What the program does with the TPU API's answers, and with no answer."""

import asyncio

import pulumi
import pytest
from good_stack import POD, configuration

from tpuwright.cloud.errors import CloudError


@pytest.fixture
def survey(tmp_path, monkeypatch):
    """The survey of a stack whose every request to the API fails with one error; and what was warned of."""
    import preflight
    from stack_settings import stack_from

    warned = []
    monkeypatch.setattr(pulumi.log, "warn", warned.append)

    def run(error, pod=POD):
        class Failing:
            def __init__(self, *_):
                pass

            def accelerator_types(self, _zone):
                raise error

        monkeypatch.setattr(preflight, "TpuApi", Failing)
        return preflight.survey(stack_from(configuration(pods=[pod]), "dev", "tpuwright", tmp_path)), warned

    return run


@pytest.mark.parametrize("kind", ["network", "credentials_missing", "unavailable"])
def test_without_an_answer_the_plan_goes_on_with_one_warning(survey, kind):
    answer, warned = survey(
        CloudError(kind, "The API cannot be reached."), {**POD, "zones": ["us-west4-a", "us-west1-c"]}
    )
    assert answer is None
    assert len(warned) == 1
    assert "The API cannot be reached." in warned[0]


@pytest.mark.parametrize("kind", ["permission", "api_disabled", "billing"])
def test_an_answer_that_ends_every_creation_ends_the_preview_with_its_sentence(survey, kind):
    with pytest.raises(pulumi.RunError, match=r"^Do this\.$"):
        survey(CloudError(kind, "Do this."))


def test_a_zone_without_tpus_is_refused_with_the_zones_that_have_them(survey):
    with pytest.raises(
        pulumi.RunError, match=r"pods\[0\]\.zones\[0\] 'us-west9-z' is not a zone with TPUs.*us-west4-a"
    ):
        survey(CloudError("not_found", "Gone."), {**POD, "zones": ["us-west9-z"]})


def test_settings_that_are_refused_end_the_program_with_sentences_and_no_traceback(tmp_path):
    from stack_settings import stack_from

    with pytest.raises(pulumi.RunError, match=r"pods\[0\]\.accelerator_type 'v5p-12' does not exist"):
        stack_from(configuration(pods=[{**POD, "accelerator_type": "v5p-12"}]), "dev", "tpuwright", tmp_path)


def test_an_error_of_the_provider_is_followed_by_what_to_do(monkeypatch):
    from components.explained import say

    shown = []
    monkeypatch.setattr(pulumi.log, "error", shown.append)
    failure = pulumi.ErrorHookArgs(
        urn="urn:pulumi:dev::tpuwright::gcp:tpu/v2Vm:V2Vm::pod-node",
        id="",
        name="pod-node",
        type="gcp:tpu/v2Vm:V2Vm",
        failed_operation="create",
        errors=['Error waiting to create: Error code 8, message: There is no more capacity in the zone "us-west4-a"'],
    )
    assert say(failure) is False, "the engine must not try again by itself"
    assert len(shown) == 1
    assert "no free capacity" in shown[0]
    assert "us-west4-a" in shown[0]


@pytest.fixture
def patience(tmp_path, monkeypatch):
    """A watch over the creation of dev-pod that takes milliseconds, and what it warned of."""
    import components.patience
    from placement import place
    from stack_settings import stack_from

    warned = []
    monkeypatch.setattr(pulumi.log, "warn", warned.append)
    monkeypatch.setattr(components.patience, "SILENCE_SECONDS", 0.1)
    monkeypatch.setattr(components.patience, "_POLL_SECONDS", 0.01)

    def make(answer):
        class Answering:
            def __init__(self, *_):
                pass

            def node(self, zone, name):
                assert (zone, name) == ("us-west4-a", "dev-pod")
                if isinstance(answer, CloudError):
                    raise answer
                return answer

        monkeypatch.setattr(components.patience, "TpuApi", Answering)
        stack = stack_from(configuration(), "dev", "tpuwright", tmp_path)
        return components.patience.Patience(stack, place(stack, None)[0], minutes=60), warned

    return make


def test_a_node_that_google_never_accepts_is_mentioned_once_with_the_likely_cause(patience):
    watch, warned = patience(CloudError("not_found", "No such node."))

    async def creation():
        await watch.begin(None)
        await asyncio.sleep(0.3)
        await watch.end(None)

    asyncio.run(creation())
    assert len(warned) == 1
    assert "no node dev-pod in us-west4-a" in warned[0]
    assert "quota" in warned[0]


@pytest.mark.parametrize("answer", [object(), CloudError("network", "No answer.")], ids=["it is there", "no answer"])
def test_a_node_that_is_there_or_cannot_be_seen_is_not_mentioned(patience, answer):
    watch, warned = patience(answer)

    async def creation():
        await watch.begin(None)
        await asyncio.sleep(0.3)

    asyncio.run(creation())
    assert warned == []


def test_a_creation_that_failed_is_no_longer_watched(patience):
    watch, warned = patience(CloudError("not_found", "No such node."))

    async def creation():
        await watch.begin(None)
        assert await watch.failed(None) is False, "the engine must not try again by itself"
        await asyncio.sleep(0.3)

    asyncio.run(creation())
    assert warned == []
