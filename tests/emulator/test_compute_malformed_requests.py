"""Whatever a client sends to Compute, IAM, Resource Manager or Service Usage, the answer is never a 500."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import cache
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rehearsal.emulator import discovery
from rehearsal.emulator.app import create_app
from rehearsal.emulator.auth import Tokens
from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.handlers import HANDLERS
from rehearsal.emulator.services import load_handlers
from rehearsal.emulator.store import Store
from rehearsal.hosts.paper_hosts import PaperHosts

SERVICES = {"compute", "iam", "cloudresourcemanager", "serviceusage"}
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=12),
    st.sampled_from(
        ["net", "sub", "bastion", "global/networks/net", "regions/us-west4/subnetworks/sub", "10.0.0.0/24", "tcp", "22"]
    ),
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
PLACES = {
    "project": st.sampled_from(["demo-proj", "other"]),
    "zone": st.sampled_from(["us-west4-a", "nowhere"]),
    "region": st.sampled_from(["us-west4", "nowhere"]),
}


@cache
def _methods() -> list[tuple[discovery.Document, discovery.Method]]:
    load_handlers()
    return [
        (discovery.load(document), method)
        for document in discovery.SERVED
        if document.service in SERVICES
        for method in discovery.load(document).methods
        if method.id in HANDLERS and not method.id.endswith(".wait")
    ]


def _shaped(document: discovery.Document, schema: dict[str, Any], depth: int) -> st.SearchStrategy[Any]:
    """Mostly what the schema asks for, so that handlers are reached; sometimes anything at all."""
    if "$ref" in schema:
        inner = document.schemas[schema["$ref"]]
        fields = {} if depth == 0 else inner.get("properties", {})
        chosen = {
            name: _shaped(document, field, depth - 1) for name, field in fields.items() if not field.get("readOnly")
        }
        return st.fixed_dictionaries({}, optional=chosen)
    if schema.get("type") == "array":
        return st.lists(_shaped(document, schema.get("items", {}), depth), max_size=2)
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema.get("type") == "boolean":
        return st.booleans()
    if schema.get("type") == "integer":
        return st.integers(-1, 70000)
    if schema.get("type") == "string":
        return st.sampled_from(
            ["", "net", "sub", "rt", "fw", "vm", "10.1.0.0/24", "10.0.0.2", "global/networks/net", "tcp", "22", "100"]
        ) | st.text(max_size=8)
    return ANYTHING


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str, dict[str, str], Any]:
    """(verb, path, query, body) of some emulated method."""
    document, method = draw(st.sampled_from(_methods()))
    path = "/" + _template(method)
    for name in method.names.groupindex:
        word = draw(PLACES.get(name, st.sampled_from(["net", "sub", "rt", "fw", "vm", "a b", "ü", "debian-12"])))
        path = path.replace("{" + name + "}", httpx.URL(f"http://x/{word}").raw_path.decode()[1:])
    optional = [name for name, schema in method.parameters.items() if schema.get("location") == "query"]
    query = (
        {name: draw(st.text(max_size=10)) for name in draw(st.lists(st.sampled_from(optional), max_size=2))}
        if optional
        else {}
    )
    body = None
    if method.request is not None:
        body = draw(_shaped(document, {"$ref": method.request}, 3) | ANYTHING)
    return method.http_method, path, query, body


def _template(method: discovery.Method) -> str:
    """The method's path with {name} for its variables; one-platform names are spelled out."""
    text = method.names.pattern.replace("\\", "")
    for name in method.names.groupindex:
        text = text.replace(f"(?P<{name}>.+)", _one_platform(method.id, name))
        text = text.replace(f"(?P<{name}>[^/]+)", "{" + name + "}")
    return text


def _one_platform(method_id: str, name: str) -> str:
    if "serviceAccounts" in method_id and not method_id.endswith(("create", "list")):
        return "projects/demo-proj/serviceAccounts/pod-sa@demo-proj.iam.gserviceaccount.com"
    if "keys" in method_id:
        return "projects/demo-proj/serviceAccounts/pod-sa@demo-proj.iam.gserviceaccount.com"
    if method_id.startswith("serviceusage.operations"):
        return "operations/noop.DONE_OPERATION"
    if method_id.startswith("serviceusage") and name == "name":
        return "projects/demo-proj/services/tpu.googleapis.com"
    return "projects/demo-proj"


@pytest.fixture(scope="module")
def send() -> Iterator[Any]:
    """Sends one request to a cloud that keeps what earlier ones made."""
    loop = asyncio.new_event_loop()
    cloud = Cloud(Store(":memory:"), PaperHosts(), Tokens("token"), project="demo-proj")
    transport = httpx.ASGITransport(app=create_app(cloud), raise_app_exceptions=False)
    client = httpx.AsyncClient(
        transport=transport, base_url="http://emulator", headers={"Authorization": "Bearer token"}
    )
    root = "/compute/v1/projects/demo-proj"
    for path, body in (
        (f"{root}/global/networks", {"name": "net", "autoCreateSubnetworks": False}),
        (
            f"{root}/regions/us-west4/subnetworks",
            {"name": "sub", "network": "global/networks/net", "ipCidrRange": "10.0.0.0/24"},
        ),
        (f"{root}/regions/us-west4/routers", {"name": "rt", "network": "global/networks/net"}),
        ("/v1/projects/demo-proj/serviceAccounts", {"accountId": "pod-sa"}),
    ):
        loop.run_until_complete(client.post(path, json=body))
    yield lambda verb, path, query, body: loop.run_until_complete(client.request(verb, path, params=query, json=body))
    loop.run_until_complete(cloud.stop())
    loop.close()


@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(request=requests())
def test_no_request_at_all_is_answered_500(send: Any, request: tuple[str, str, dict[str, str], Any]) -> None:
    answer = send(*request)
    assert answer.status_code != 500, answer.text
    if answer.status_code >= 400:
        assert answer.json()["error"]["message"]


@pytest.mark.parametrize("raw", [b"{", b"[]", b"nonsense", b'{"name": NaN}', b"\xff\xfe", b"[" * 5000])
def test_what_is_no_json_object_is_refused(client: httpx.Client, raw: bytes) -> None:
    assert client.post("/compute/v1/projects/demo-proj/global/networks", content=raw).status_code == 400
