"""The frame: dispatch by discovery document, checks both ways, authentication."""

from __future__ import annotations

from starlette.testclient import TestClient

ZONE = "/v2/projects/demo-proj/locations/us-west4-a"


def test_one_handler_answers_both_api_versions(client: TestClient) -> None:
    for version in ("v2", "v2alpha1", "tpu/v2alpha1"):
        answer = client.get(f"/{version}/projects/demo-proj/locations/us-west4-a/acceleratorTypes/v5litepod-16")
        assert answer.status_code == 200
        assert answer.json()["acceleratorConfigs"] == [{"type": "V5LITE_POD", "topology": "4x4"}]


def test_a_request_without_a_token_is_refused_with_googles_body(client: TestClient) -> None:
    answer = client.get(f"{ZONE}/acceleratorTypes", headers={"Authorization": ""})
    assert answer.status_code == 401
    assert answer.json()["error"]["status"] == "UNAUTHENTICATED"


def test_what_is_not_emulated_answers_501_and_names_itself(client: TestClient) -> None:
    answer = client.get("/compute/v1/projects/demo-proj/global/acceleratorTypes")
    assert answer.status_code == 404
    answer = client.get("/compute/v1/projects/demo-proj/global/licenses/x")
    assert answer.status_code == 501
    assert "compute.licenses.get" in answer.json()["error"]["message"]


def test_an_unknown_query_parameter_is_refused(client: TestClient) -> None:
    answer = client.get(f"{ZONE}/acceleratorTypes?colour=red")
    assert answer.status_code == 400
    assert 'Unknown name "colour": Cannot bind query parameter' in answer.json()["error"]["message"]
