"""The frame: dispatch by discovery document, checks both ways, authentication, partial answers."""

from __future__ import annotations

import httpx
import pytest
from emulated_cloud import Live

from rehearsal.emulator import discovery
from rehearsal.emulator.enumerations import enum_name
from rehearsal.emulator.errors import ApiError
from rehearsal.emulator.handlers import HANDLERS
from rehearsal.emulator.messages import ResponseMismatch, check_request, check_response
from rehearsal.emulator.partial_response import parse_fields, select
from rehearsal.emulator.services import load_handlers

ZONE = "/v2/projects/demo-proj/locations/us-west4-a"


@pytest.mark.parametrize("prefix", ["v2", "v2alpha1", "tpu/v2alpha1"])
def test_one_handler_answers_every_version_and_prefix(client: httpx.Client, prefix: str) -> None:
    answer = client.get(f"/{prefix}/projects/demo-proj/locations/us-west4-a/acceleratorTypes/v5litepod-16")
    assert answer.status_code == 200
    assert answer.json()["acceleratorConfigs"] == [{"type": "V5LITE_POD", "topology": "4x4"}]


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("", "missing required"),
        ("Bearer wrong", "invalid authentication"),
        ("Bearer ya29.r.eA.forged", "invalid authentication"),
        ("Basic a-token-for-tests", "missing required"),
    ],
)
def test_a_request_without_a_good_token_is_refused_with_googles_body(
    client: httpx.Client, header: str, reason: str
) -> None:
    answer = client.get(f"{ZONE}/acceleratorTypes", headers={"Authorization": header})
    assert answer.status_code == 401
    assert answer.json()["error"]["status"] == "UNAUTHENTICATED"
    assert reason in answer.json()["error"]["message"]


def test_a_service_accounts_token_is_accepted_and_opens_no_admin_route(live: Live) -> None:
    token = live.cloud.tokens.for_service_account("pod@demo-proj.iam.gserviceaccount.com")
    headers = {"Authorization": f"Bearer {token}"}
    assert live.http.get(f"{ZONE}/acceleratorTypes", headers=headers).status_code == 200
    assert live.http.get("/_emulator/status", headers=headers).status_code == 401


def test_what_is_not_emulated_answers_501_and_names_itself(client: httpx.Client) -> None:
    answer = client.get("/compute/v1/projects/demo-proj/global/licenses/x")
    assert answer.status_code == 501
    assert "compute.licenses.get" in answer.json()["error"]["message"]


@pytest.mark.parametrize("path", ["/", "/v3alpha/projects", "/v2/projects/demo-proj/locations/us-west4-a/hats"])
def test_an_unknown_path_answers_404(client: httpx.Client, path: str) -> None:
    assert client.get(path).status_code == 404


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"colour": 1}, "Unknown name \"colour\" at 'node': Cannot find field."),
        ({"networkConfig": {"vlan": 1}}, "Unknown name \"vlan\" at 'node.network_config': Cannot find field."),
        ({"tags": ["a", 5]}, "Invalid value at 'node.tags[1]' (TYPE_STRING), 5"),
        ({"labels": {"a": True}}, "Invalid value at 'node.labels[0].value' (TYPE_STRING), true"),
        ({"networkConfig": []}, "Invalid value at 'node.network_config'"),
        ({"networkConfig": {"canIpForward": "yes"}}, "'node.network_config.can_ip_forward' (TYPE_BOOL), \"yes\""),
        ({"networkConfig": {"queueCount": 2**31}}, "'node.network_config.queue_count' (TYPE_INT32)"),
        ({"acceleratorConfig": {"type": "V9"}}, "Invalid value at 'node.accelerator_config.type'"),
        ([], "Root element must be a message"),
    ],
)
def test_a_malformed_body_is_refused_in_googles_words(client: httpx.Client, body: object, words: str) -> None:
    answer = client.post(f"{ZONE}/nodes?nodeId=pod", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["status"] == "INVALID_ARGUMENT"
    assert words in answer.json()["error"]["message"]


def test_a_body_that_is_no_json_is_refused(client: httpx.Client) -> None:
    answer = client.post(f"{ZONE}/nodes?nodeId=pod", content=b"{nodeId:")
    assert answer.status_code == 400
    assert "Invalid JSON payload received." in answer.json()["error"]["message"]


def test_an_unknown_query_parameter_is_refused_and_common_ones_are_not(client: httpx.Client) -> None:
    answer = client.get(f"{ZONE}/acceleratorTypes?colour=red")
    assert answer.status_code == 400
    assert 'Unknown name "colour": Cannot bind query parameter' in answer.json()["error"]["message"]
    common = "alt=json&prettyPrint=false&$alt=json;enum-encoding=int&key=k&quotaUser=q&$.xgafv=2"
    assert client.get(f"{ZONE}/acceleratorTypes?{common}").status_code == 200


def _request(body: object) -> dict[str, object]:
    match = discovery.find("POST", "/v2alpha1/projects/p/locations/z/nodes", frozenset())
    assert match is not None
    return check_request(match, body)


def test_output_only_fields_and_nulls_are_dropped_from_a_request() -> None:
    body = {"name": "pod", "state": "READY", "labels": None, "description": "x", "tags": [None, "a"]}
    assert _request(body) == {"description": "x", "tags": ["a"]}


def test_protocol_buffer_names_numbers_as_text_and_enum_numbers_are_taken() -> None:
    body = {
        "network_config": {"queue_count": "3"},
        "bootDiskConfig": {"diskSizeGb": 100},
        "acceleratorConfig": {"type": 9},
    }
    assert _request(body) == {
        "networkConfig": {"queueCount": 3},
        "bootDiskConfig": {"diskSizeGb": "100"},
        "acceleratorConfig": {"type": "V5LITE_POD"},
    }


def test_enum_numbers_are_those_of_the_official_client() -> None:
    from google.cloud.tpu_v2.types import cloud_tpu

    for key, enum in (
        ("tpu.AcceleratorConfig.type", cloud_tpu.AcceleratorConfig.Type),
        ("tpu.AttachedDisk.mode", cloud_tpu.AttachedDisk.DiskMode),
        ("tpu.Node.health", cloud_tpu.Node.Health),
    ):
        assert all(enum_name(key, value.value) == value.name for value in enum), key


@pytest.mark.parametrize(
    "answer",
    [{"hats": 1}, {"state": "GONE"}, {"id": 5}, {"tags": "a"}, {"createTime": "today"}, {"networkEndpoints": [3]}],
)
def test_an_answer_that_the_document_does_not_allow_is_a_mismatch(answer: dict[str, object]) -> None:
    match = discovery.find("GET", "/v2alpha1/projects/p/locations/z/nodes/n", frozenset())
    assert match is not None
    with pytest.raises(ResponseMismatch, match=r"nodes\.get answered"):
        check_response(match, answer)


def test_fields_select_parts_of_an_answer() -> None:
    value = {"services": [{"name": "a", "state": "ON"}], "nextPageToken": "t", "other": 1}
    assert select(value, parse_fields("services/name,nextPageToken")) == {
        "services": [{"name": "a"}],
        "nextPageToken": "t",
    }
    assert select(value, parse_fields("services(name,state)")) == {"services": value["services"]}
    assert select(value, parse_fields("*/name")) == {"services": [{"name": "a"}], "nextPageToken": "t", "other": 1}
    for wrong in ("", "a(b", "a)", ",", "a//b"):
        with pytest.raises(ApiError, match="Invalid field selection"):
            parse_fields(wrong)


def test_every_handler_belongs_to_a_method_of_a_discovery_document() -> None:
    load_handlers()
    known = {method.id for document in discovery.SERVED for method in discovery.load(document).methods}
    assert set(HANDLERS) <= known


def test_the_documents_of_all_services_fit_into_the_memory_that_is_promised() -> None:
    import subprocess
    import sys

    program = (
        "import psutil, rehearsal.emulator.server; from rehearsal.emulator import discovery\n"
        "for document in discovery.SERVED: discovery.load(document)\n"
        "print(psutil.Process().memory_info().rss // 2**20)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 150
