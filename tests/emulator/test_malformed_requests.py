"""No request, however malformed, makes the emulator answer 500."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from emulated_cloud import PROJECT, Live, make_cloud, serve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rehearsal.emulator import discovery
from rehearsal.emulator.handlers import HANDLERS
from rehearsal.emulator.services import load_handlers

ZONE = f"/v2alpha1/projects/{PROJECT}/locations/us-west4-a"


@pytest.fixture(scope="module")
def served() -> Iterator[Live]:
    cloud = serve(make_cloud())
    live = next(cloud)
    root = f"/compute/v1/projects/{PROJECT}"
    live.done(live.http.post(f"{root}/global/networks", json={"name": "net", "autoCreateSubnetworks": False}))
    subnetwork = {"name": "sub", "network": "global/networks/net", "ipCidrRange": "10.200.0.0/24"}
    live.done(live.http.post(f"{root}/regions/us-west4/subnetworks", json=subnetwork))
    node = {
        "acceleratorType": "v5litepod-8",
        "runtimeVersion": "v2-alpha-tpuv5-lite",
        "networkConfig": {"subnetwork": "sub"},
    }
    live.done(live.http.post(f"{ZONE}/nodes?nodeId=pod", json=node))
    spec = {"parent": ZONE.removeprefix("/v2alpha1/"), "nodeId": "n", "node": node}
    live.done(live.http.post(f"{ZONE}/queuedResources?queuedResourceId=qr", json={"tpu": {"nodeSpec": [spec]}}))
    yield live
    cloud.close()


def _methods() -> list[tuple[discovery.Document, discovery.Method]]:
    load_handlers()
    return [
        (document, method)
        for document_id in discovery.SERVED
        for document in [discovery.load(document_id)]
        for method in document.methods
        if method.id in HANDLERS and not method.id.endswith(".wait")
    ]


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=20)
)
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
)
names = st.one_of(
    st.sampled_from(["net", "sub", "default", "us-west4", "us-west4-a", "-", PROJECT, "default", "22", "pod"]),
    st.from_regex(r"[a-zA-Z0-9_.~%\-]{1,20}", fullmatch=True),
)
plausible = st.one_of(
    names,
    st.sampled_from(
        [
            "10.0.0.0/8", "300.1.1.1", "fe80::/10", "v5litepod-16", "v2-alpha-tpuv5-lite", "1h", "3s",
            "2030-01-01T00:00:00Z", "projects/x/y", "global/networks/net", "regions/us-west4/subnetworks/sub",
            "https://www.googleapis.com/compute/v1/projects/p/zones/z", "tcp", "INGRESS", "-5", "99999999999999999999",
        ]
    ),
    scalars,
)  # fmt: skip


@st.composite
def shaped(draw: st.DrawFn, schemas: dict[str, Any], schema: dict[str, Any], depth: int = 0) -> Any:
    """A value of about the shape of a schema, right here and wrong there."""
    if draw(st.integers(0, 19)) == 0:
        return draw(anything)
    schema = schemas[schema["$ref"]] if "$ref" in schema else schema
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]) | names)
    kind = schema.get("type")
    if kind == "array":
        return [draw(shaped(schemas, schema["items"], depth + 1)) for _ in range(draw(st.integers(0, 2)))]
    if kind == "object" and "properties" in schema:
        if depth > 3:
            return {}
        keys = sorted(schema["properties"])
        chosen = draw(st.lists(st.sampled_from(keys), max_size=5, unique=True)) if keys else []
        return {key: draw(shaped(schemas, schema["properties"][key], depth + 1)) for key in chosen}
    if kind == "object":
        return draw(st.dictionaries(names, plausible, max_size=2))
    if kind == "boolean":
        return draw(st.booleans())
    if kind in {"integer", "number"}:
        return draw(st.integers(-5, 300) | st.integers())
    return draw(plausible)


def place(before: str) -> st.SearchStrategy[str]:
    """What stands in a path after `before`: mostly what exists, so that handlers are reached."""
    known = {
        "project": PROJECT,
        "projects": PROJECT,
        "zone": "us-west4-a",
        "locations": "us-west4-a",
        "zones": "us-west4-a",
        "region": "us-west4",
        "regions": "us-west4",
        "network": "net",
        "subnetwork": "sub",
        "nodes": "pod",
        "queuedResources": "qr",
        "disk": "disk",
    }
    if before not in known:
        return names
    return st.integers(0, 9).flatmap(lambda dice: names if dice == 0 else st.just(known[before]))


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str, dict[str, str], Any]:
    """A method that has a handler, with parameters and a body of about the right shape."""
    document, method = draw(st.sampled_from(_methods()))
    path = method.names.pattern
    for name in method.names.groupindex:
        pattern = method.parameters.get(name, {}).get("pattern", "")
        value = draw(place(name))
        if "/" in pattern:
            parts = pattern.strip("^$").split("/")
            value = "/".join(draw(place(parts[i - 1])) if part == "[^/]+" else part for i, part in enumerate(parts))
        start = path.index(f"(?P<{name}>")
        path = path[:start] + value + path[path.index(")", start) + 1 :]
    query = {
        name: str(draw(plausible))
        for name, parameter in method.parameters.items()
        if parameter.get("location") == "query" and draw(st.integers(0, 4)) == 0
    }
    body = draw(shaped(document.schemas, {"$ref": method.request})) if method.request else None
    return method.http_method, "/" + path.replace("\\", ""), query, body


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(request_=requests())
def test_no_request_of_about_the_right_shape_makes_a_500(
    served: Live, request_: tuple[str, str, dict[str, str], Any]
) -> None:
    http_method, path, query, body = request_
    encoded = "".join(part if part.isascii() and part != "%" else "%25" for part in path)
    answer = served.http.request(http_method, encoded, params=query, json=body)
    assert answer.status_code not in {500, 502}, answer.text
    if answer.is_error:
        assert answer.json()["error"]["message"], answer.text


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(anything, st.sampled_from(["nodes?nodeId=n", "queuedResources?queuedResourceId=q", "nodes/n:stop"]))
def test_no_json_whatsoever_makes_a_500(served: Live, body: Any, path: str) -> None:
    answer = served.http.post(f"{ZONE}/{path}", json=body)
    assert answer.status_code < 500, answer.text


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.binary(max_size=40))
def test_no_bytes_whatsoever_make_a_500(served: Live, content: bytes) -> None:
    answer = served.http.post(f"{ZONE}/nodes?nodeId=n", content=content)
    assert answer.status_code < 500, answer.text
    json.loads(answer.text)


def test_a_body_that_is_nested_very_deeply_is_refused(served: Live) -> None:
    answer = served.http.post(f"{ZONE}/nodes?nodeId=n", content=b'{"labels":' * 100000)
    assert answer.status_code == 400
