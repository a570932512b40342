"""What the official gcp plugin was recorded to send is accepted; what is not emulated names itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

WIRE = Path(__file__).parent / "wire"
EMULATED = ("networks", "subnetworks", "firewalls", "routers", "disks", "instances")
KNOWN_ABSENT = "/compute/beta/projects/1"
"""The recording server called every project number 1; here it is another."""


def _requests(file: str) -> list[dict[str, Any]]:
    # The recorded zone has no v5litepod here; the requests are the same in one that has.
    text = (WIRE / file).read_text(encoding="utf-8").replace("europe-west4", "us-west4")
    entries = [entry for line in text.splitlines() if "step" not in (entry := json.loads(line))]
    # Queued resources need a default network; the tests of the TPU API send them.
    return [entry for entry in entries if "queuedResources" not in entry["path"]]


def _send(live: Any, entry: dict[str, Any]) -> Any:
    body = entry.get("body")
    if isinstance(body, dict) and "etag" in body.get("policy", {}):
        # The recording server's etag was "x"; a client sends what it has read.
        body["policy"]["etag"] = live.http.post("/crm/v1/projects/demo-proj:getIamPolicy", json={}).json()["etag"]
    return live.http.request(entry["method"], f"{entry['path']}?{entry['query']}", json=body)


@pytest.mark.parametrize("file", ["official-plugin-core.jsonl", "official-plugin-more.jsonl"])
def test_every_recorded_request_is_accepted_or_named_as_not_emulated(live: Any, file: str) -> None:
    for entry in _requests(file):
        answer = _send(live, entry)
        request = f"{entry['method']} {entry['path']}"
        if answer.status_code == 501:
            collection = entry["path"].split("/")[6:] if entry["path"].startswith("/compute/") else []
            assert not set(EMULATED) & set(collection), f"{request}: {answer.text}"
            assert "is not emulated" in answer.text, request
        elif entry["path"] == KNOWN_ABSENT:
            assert answer.status_code == 404
        elif entry["path"].startswith(("/v2", "/compute")):
            assert answer.status_code == 200, f"{request}: {answer.text}"
            if entry["method"] != "GET":
                assert "error" not in live.done(answer), request
        else:
            assert answer.status_code == 200, f"{request}: {answer.text}"


def test_after_the_recorded_destroy_nothing_is_left(live: Any) -> None:
    for entry in _requests("official-plugin-core.jsonl"):
        answer = _send(live, entry)
        if entry["method"] != "GET" and answer.status_code == 200:
            live.done(answer)
    root = "/compute/v1/projects/demo-proj"
    for collection in (
        "global/networks",
        "global/firewalls",
        "regions/us-west4/subnetworks",
        "regions/us-west4/routers",
    ):
        assert "items" not in live.http.get(f"{root}/{collection}").json()
    assert live.run(live.cloud.hosts.leftovers()) == []
