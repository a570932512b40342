"""What counts as a difference, and which differences force a replacement."""

import pytest

from rehearsal.provider import check, diff, imports
from rehearsal.provider.images import same_image
from rehearsal.provider.kinds import Kind, all_kinds
from rehearsal.provider.values import UNKNOWN

V2_VM = all_kinds()["gcp:tpu/v2Vm:V2Vm"]
FIREWALL = all_kinds()["gcp:compute/firewall:Firewall"]
INSTANCE = all_kinds()["gcp:compute/instance:Instance"]
SELF_LINK = "https://www.googleapis.com/compute/v1/projects/p/global/networks/net"
NODE = {"name": "pod", "runtimeVersion": "r", "acceleratorType": "v5litepod-16"}
LABELS = {
    "labels": {"a": "b"},
    "pulumiLabels": {"a": "b", "goog-pulumi-provisioned": "true"},
    "effectiveLabels": {"a": "b", "goog-pulumi-provisioned": "true", "theirs": "1"},
}


def said(kind: Kind, state: dict[str, object], inputs: dict[str, object]) -> dict[str, tuple[str, bool]]:
    return {change.path: (change.kind, change.replaces) for change in diff.changes(kind, state, inputs)}


def test_what_only_the_api_says_is_no_difference() -> None:
    state = NODE | LABELS | {"state": "PREEMPTED", "cidrBlock": "10.0.0.0/29", "zone": "z", "description": ""}
    assert said(V2_VM, state, NODE | {"labels": {"a": "b"}}) == {}


def test_a_label_changes_the_labels_that_the_plugin_makes_and_leaves_foreign_ones() -> None:
    changed = said(V2_VM, NODE | LABELS, NODE | {"labels": {"a": "c"}})
    assert changed == {
        "labels.a": ("update", False),
        "effectiveLabels.a": ("update", False),
        "pulumiLabels.a": ("update", False),
    }


def test_an_attribution_label_that_was_taken_away_is_a_difference() -> None:
    lost = {"effectiveLabels": {"a": "b"}, "pulumiLabels": {"a": "b"}, "labels": {"a": "b"}}
    changed = said(V2_VM, NODE | lost, NODE | {"labels": {"a": "b"}})
    assert changed == {
        'effectiveLabels["goog-pulumi-provisioned"]': ("add", False),
        'pulumiLabels["goog-pulumi-provisioned"]': ("add", False),
    }


def test_a_nested_property_that_forces_replacement_is_found_by_its_path() -> None:
    config = {"network": "n", "subnetwork": "s", "enableExternalIps": False, "canIpForward": False, "queueCount": 0}
    state = NODE | LABELS | {"networkConfig": config}
    wanted = NODE | {"labels": {"a": "b"}, "networkConfig": {"network": "n", "enableExternalIps": True}}
    assert said(V2_VM, state, wanted) == {"networkConfig.enableExternalIps": ("add", True)}


def test_a_whole_object_that_the_api_does_not_keep_is_no_difference_when_it_says_nothing() -> None:
    state = NODE | LABELS
    wanted = NODE | {"labels": {"a": "b"}, "schedulingConfig": {"spot": False}}
    assert said(V2_VM, state, wanted) == {}
    wanted["schedulingConfig"] = {"spot": True}
    assert said(V2_VM, state, wanted) == {"schedulingConfig": ("add", True)}


def test_the_order_of_a_set_is_no_difference_and_a_changed_member_is() -> None:
    rule = {"name": "fw", "network": SELF_LINK, "priority": 1000, "sourceTags": ["a", "b"]}
    assert said(FIREWALL, rule, rule | {"sourceTags": ["b", "a"]}) == {}
    assert said(FIREWALL, rule, rule | {"sourceTags": ["b", "c"]}) == {"sourceTags[1]": ("update", False)}
    assert said(FIREWALL, rule, rule | {"sourceTags": ["b"]}) == {"sourceTags[0]": ("delete", False)}


@pytest.mark.parametrize("reference", ["net", "projects/p/global/networks/net", SELF_LINK])
def test_a_reference_in_any_form_is_no_difference(reference: str) -> None:
    rule = {"name": "fw", "network": SELF_LINK, "priority": 1000}
    assert said(FIREWALL, rule, rule | {"network": reference}) == {}


def test_a_value_that_is_not_known_yet_is_a_difference() -> None:
    rule = {"name": "fw", "network": SELF_LINK, "priority": 1000}
    assert said(FIREWALL, rule, rule | {"network": UNKNOWN}) == {"network": ("update", False)}


def test_ignored_changes_are_not_said() -> None:
    changes = diff.changes(V2_VM, NODE | LABELS, NODE | {"labels": {"a": "c"}}, ("labels",))
    assert changes == []


@pytest.mark.parametrize(
    ("found", "wanted", "same"),
    [
        ("debian-12-bookworm-v20261014", "debian-cloud/debian-12", True),
        ("debian-12-bookworm-v20261014", "projects/debian-cloud/global/images/family/debian-12", True),
        ("debian-12-bookworm-v20261014", "debian-12", True),
        ("debian-12-bookworm-v20261014", "projects/debian-cloud/global/images/debian-12-bookworm-v20261014", True),
        ("debian-12-bookworm-v20261014", "projects/debian-cloud/global/images/debian-12-bookworm-v20250101", False),
        ("debian-12-bookworm-v20261014", "debian-cloud/debian-11", False),
        ("debian-12-bookworm-v20261014", "ubuntu-os-cloud/debian-12", False),
        ("debian-12-bookworm-arm64-v20261014", "debian-cloud/debian-12", False),
        ("debian-12-bookworm-arm64-v20261014", "debian-cloud/debian-12-arm64", True),
    ],
)
def test_an_image_is_the_wanted_one_or_of_the_wanted_family(found: str, wanted: str, same: bool) -> None:
    link = f"https://www.googleapis.com/compute/v1/projects/debian-cloud/global/images/{found}"
    assert same_image(link, wanted) is same


def test_a_refresh_changes_only_inputs_that_the_program_says_and_that_differ() -> None:
    inputs = {"network": "net", "name": "fw", "sourceTags": ["b", "a"], "__defaults": ["name"]}
    state = {"network": SELF_LINK, "name": "fw", "sourceTags": ["a", "b"], "description": "by hand"}
    assert imports.of_refresh(FIREWALL, inputs, state) == inputs
    assert imports.of_refresh(FIREWALL, inputs, state | {"sourceTags": ["z"]})["sourceTags"] == ["z"]


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        ({}, "Missing required property 'runtimeVersion'"),
        ({"runtimeVersion": "r", "zonee": "z"}, "Invalid or unknown key. Examine values at 'pod.zonee'."),
        ({"runtimeVersion": ["r"]}, "expected a string, got ['r']. Examine values at 'pod.runtimeVersion'."),
        ({"runtimeVersion": "r", "tags": "tpu"}, "expected a list, got 'tpu'. Examine values at 'pod.tags'."),
        (
            {"runtimeVersion": "r", "networkConfig": {"queueCount": "many"}},
            "expected a number, got 'many'. Examine values at 'pod.networkConfig.queueCount'.",
        ),
    ],
)
def test_wrong_inputs_are_said_with_the_place_of_the_value(inputs: dict[str, object], sentence: str) -> None:
    assert check.failures(V2_VM, "pod", inputs) == [sentence]


@pytest.mark.parametrize("name", ["Net", "1net", "net_work", "n" * 64, "net\n", "-net", "net-"])
def test_a_name_that_google_would_refuse_is_refused_with_the_pattern(name: str) -> None:
    found = check.failures(FIREWALL, "fw", {"name": name, "network": "n"})
    assert len(found) == 1
    assert "doesn't match regexp" in found[0]


def test_values_that_are_not_known_yet_are_right_in_every_place() -> None:
    unknown = {"runtimeVersion": UNKNOWN, "tags": UNKNOWN, "networkConfig": UNKNOWN, "name": UNKNOWN}
    assert check.failures(V2_VM, "pod", unknown) == []


def test_defaults_are_filled_in_and_listed() -> None:
    made = check.filled(FIREWALL, "fw", {"network": "n"}, {}, b"seed")
    assert made["priority"] == 1000
    assert made["__defaults"] == ["name", "priority"]
    assert made["name"] == check.filled(FIREWALL, "fw", {"network": "n"}, {}, b"seed")["name"]
    assert made["name"] == check.filled(FIREWALL, "fw", {"network": "n"}, made, b"other")["name"]


def test_a_made_name_fits_into_googles_limit() -> None:
    made = check.filled(FIREWALL, "F" * 80, {"network": "n"}, {}, b"seed")
    assert len(made["name"]) == 63
    assert check.failures(FIREWALL, "fw", made) == []


def test_an_instances_disk_gets_the_defaults_of_its_parts() -> None:
    made = check.filled(INSTANCE, "vm", {"bootDisk": {"initializeParams": {"size": 10}}}, {}, b"seed")
    assert made["bootDisk"] == {"autoDelete": True, "initializeParams": {"size": 10}, "mode": "READ_WRITE"}
