"""Where pods go and when their nodes are made anew, from what the TPU API answers."""

import pulumi
import pytest
from good_stack import POD, configuration

from tpuwright.cloud.tpu import Node

OURS = {"tpuwright-stack": "dev"}
SPOT = {**POD, "provisioning_model": "spot"}


def zone(*nodes, types=("v5litepod-16",), versions=("v2-alpha-tpuv5-lite",)):
    from preflight import ZoneSurvey

    return ZoneSurvey(frozenset(types), frozenset(versions), {node.name: node for node in nodes})


def node(state="READY", labels=OURS, accelerator_type="v5litepod-16"):
    return Node(name="dev-pod", state=state, labels=dict(labels), accelerator_type=accelerator_type)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Placements of a stack's pods, and what was logged, for an answer of the API."""
    import placement
    from stack_settings import stack_from

    logged = []
    monkeypatch.setattr(pulumi.log, "warn", logged.append)

    def run(zones, *pods):
        stack = stack_from(configuration(pods=list(pods or [POD])), "dev", "tpuwright", tmp_path)
        return placement.place(stack, zones), logged

    return run


def test_a_healthy_node_is_left_alone(run_program):
    run = run_program({"us-west4-a": zone(node())})
    assert run.options["pod-node"].ignore_changes == ["description"]


def test_a_node_that_is_gone_gets_a_new_description_which_forces_its_replacement(run_program):
    run = run_program({"us-west4-a": zone()})
    options = run.options["pod-node"]
    assert not options.ignore_changes
    assert options.replace_on_changes == ["description"]


def test_two_incarnations_never_have_the_same_description(run_program, monkeypatch):
    from datetime import UTC, datetime, timedelta

    import components.pod

    moments = iter([datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=second) for second in (0, 1)])

    class Clock(datetime):
        @classmethod
        def now(cls, _tz=None):
            return next(moments)

    monkeypatch.setattr(components.pod, "datetime", Clock)
    first, second = (run_program({"us-west4-a": zone()}).inputs("pod-node")["description"] for _ in range(2))
    assert first != second


@pytest.mark.parametrize("state", ["PREEMPTED", "TERMINATED", "DELETING"])
def test_a_lost_node_is_made_anew_and_the_user_is_told(place, state):
    (placement,), logged = place({"us-west4-a": zone(node(state))}, SPOT)
    assert placement.fresh
    assert state in logged[0]
    assert "run site.yml again" in logged[0]


@pytest.mark.parametrize("state", ["READY", "CREATING", "REPAIRING", "RESTARTING", "STARTING", "UNKNOWN"])
def test_a_node_that_lives_or_comes_back_by_itself_is_never_replaced(place, state):
    (placement,), _ = place({"us-west4-a": zone(node(state))}, SPOT)
    assert not placement.fresh


def test_a_stopped_spot_node_is_lost_and_a_stopped_standard_one_can_be_started(place):
    (spot,), _ = place({"us-west4-a": zone(node("STOPPED"))}, SPOT)
    (standard,), logged = place({"us-west4-a": zone(node("STOPPED"))}, POD)
    assert spot.fresh
    assert not standard.fresh
    assert "tpu-vm start dev-pod --zone us-west4-a" in logged[-1]


def test_nothing_is_replaced_while_the_api_gives_no_answer(place):
    (placement,), _ = place(None, SPOT)
    assert not placement.fresh
    assert placement.zone == "us-west4-a"


def test_a_live_pod_stays_in_its_zone_when_another_is_put_first(place):
    pod = {**POD, "zones": ["us-west1-c", "us-west4-a"]}
    (placement,), _ = place({"us-west1-c": zone(), "us-west4-a": zone(node())}, pod)
    assert (placement.zone, placement.fresh) == ("us-west4-a", False)


def test_a_lost_pod_goes_to_the_zone_that_is_wanted_most(place):
    pod = {**SPOT, "zones": ["us-west1-c", "us-west4-a"]}
    (placement,), _ = place({"us-west1-c": zone(), "us-west4-a": zone(node("PREEMPTED"))}, pod)
    assert (placement.zone, placement.fresh) == ("us-west1-c", True)


def test_a_type_that_the_zone_does_not_offer_is_refused_with_zones_that_do(place):
    with pytest.raises(pulumi.RunError) as refusal:
        place({"us-west4-a": zone(types=("v2-8",))})
    assert "pods[0].accelerator_type 'v5litepod-16' is not offered in us-west4-a" in str(refusal.value)
    assert "us-west1-c" in str(refusal.value)


def test_an_image_that_the_zone_does_not_have_is_refused_with_those_that_it_has(place):
    with pytest.raises(
        pulumi.RunError, match="'v2-alpha-tpuv5-lite' is not offered in us-west4-a: it has v2-alpha-new"
    ):
        place({"us-west4-a": zone(versions=("v2-alpha-new", "tpu-vm-base"))})


def test_every_refusal_of_the_api_is_shown_at_once(place):
    with pytest.raises(pulumi.RunError, match=r"(?s)1\. pods\[0\].*2\. pods\[0\].*3\. pods\[1\]"):
        place({"us-west4-a": zone(types=(), versions=("other",))}, POD, {**POD, "name": "b"})


def test_a_running_pod_is_not_refused_because_its_type_is_no_longer_offered(place):
    (placement,), _ = place({"us-west4-a": zone(node(), types=("v2-8",), versions=("other",))})
    assert not placement.fresh


def test_a_running_pod_is_not_given_up_for_a_type_that_the_zone_does_not_offer(place):
    with pytest.raises(pulumi.RunError, match="'v5litepod-16' is not offered"):
        place({"us-west4-a": zone(node(accelerator_type="v5litepod-4"), types=("v5litepod-4",))})


def test_the_node_of_another_stack_is_not_taken(place):
    with pytest.raises(pulumi.RunError, match="belongs to the stack theirs"):
        place({"us-west4-a": zone(node(labels={"tpuwright-stack": "theirs"}))})
