"""Google's own clients as judges: google-cloud-tpu over REST, and google-api-python-client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import google.api_core.exceptions as refusals
import google_auth_httplib2
import httplib2
import pytest
from emulated_cloud import PROJECT, TOKEN, Live
from google.cloud import tpu_v2
from google.cloud.tpu_v2.services.tpu.transports import TpuRestTransport
from google.oauth2.credentials import Credentials
from googleapiclient.discovery import build
from googleapiclient.errors import HttpError

PARENT = f"projects/{PROJECT}/locations/us-west4-a"
Until = Callable[[Callable[[], Any]], Any]


@pytest.fixture
def tpu(vpc: Live) -> tpu_v2.TpuClient:
    return tpu_v2.TpuClient(transport=TpuRestTransport(credentials=Credentials(TOKEN), host=vpc.endpoint))


def wanted_node(**changes: Any) -> tpu_v2.Node:
    fields: dict[str, Any] = {
        "accelerator_type": "v5litepod-16",
        "runtime_version": "v2-alpha-tpuv5-lite",
        "network_config": tpu_v2.NetworkConfig(network="net", subnetwork="sub"),
        **changes,
    }
    return tpu_v2.Node(fields)


def test_the_official_client_makes_changes_and_deletes_a_node(tpu: tpu_v2.TpuClient) -> None:
    creation = tpu.create_node(parent=PARENT, node_id="pod", node=wanted_node())
    node = creation.result(timeout=20)
    assert creation.metadata.verb == "create"
    assert node.state is tpu_v2.Node.State.READY
    assert node.accelerator_config.type_ is tpu_v2.AcceleratorConfig.Type.V5LITE_POD
    assert [end.ip_address for end in node.network_endpoints] == [f"10.200.0.{last}" for last in range(2, 6)]
    assert [found.name for found in tpu.list_nodes(parent=PARENT)] == [node.name]
    node.labels["a"] = "b"
    assert tpu.update_node(node=node, update_mask="labels").result(timeout=20).labels == {"a": "b"}
    answer = tpu.get_guest_attributes({"name": node.name, "query_path": "hostkeys/"})
    assert len(answer.guest_attributes) == 4
    tpu.delete_node(name=node.name).result(timeout=20)
    with pytest.raises(refusals.NotFound):
        tpu.get_node(name=node.name)


def test_the_official_client_sends_enums_as_numbers_and_is_understood(tpu: tpu_v2.TpuClient) -> None:
    config = tpu_v2.AcceleratorConfig(type_=tpu_v2.AcceleratorConfig.Type.V5LITE_POD, topology="2x2")
    node = wanted_node(accelerator_type=None, accelerator_config=config)
    made = tpu.create_node(parent=PARENT, node_id="small", node=node).result(timeout=20)
    assert made.accelerator_type == "v5litepod-4"


def test_the_official_client_raises_what_it_raises_at_google(vpc: Live, tpu: tpu_v2.TpuClient) -> None:
    with pytest.raises(refusals.BadRequest, match="was not found in zone"):
        tpu.create_node(parent=PARENT, node_id="pod", node=wanted_node(accelerator_type="v4-8"))
    tpu.create_node(parent=PARENT, node_id="pod", node=wanted_node()).result(timeout=20)
    with pytest.raises(refusals.Conflict, match="already exists"):
        tpu.create_node(parent=PARENT, node_id="pod", node=wanted_node())
    vpc.http.patch("/_emulator/settings", json={"capacity": {"*": 0}})
    with pytest.raises(refusals.ResourceExhausted, match="There is no more capacity"):
        tpu.create_node(parent=PARENT, node_id="late", node=wanted_node()).result(timeout=20)
    vpc.http.patch("/_emulator/settings", json={"quota": [{"generation": "v5e", "chips": 0}]})
    with pytest.raises(refusals.TooManyRequests, match="Quota limit 'TPUV5sLitepodPerProjectPerZoneForTPUAPI'"):
        tpu.create_node(parent=PARENT, node_id="late", node=wanted_node())


def test_the_official_client_stops_and_starts_a_host(tpu: tpu_v2.TpuClient) -> None:
    node = tpu.create_node(parent=PARENT, node_id="one", node=wanted_node(accelerator_type="v5litepod-8")).result(
        timeout=20
    )
    assert tpu.stop_node({"name": node.name}).result(timeout=20).state is tpu_v2.Node.State.STOPPED
    assert tpu.start_node({"name": node.name}).result(timeout=20).state is tpu_v2.Node.State.READY


def test_the_official_client_queues_a_request(tpu: tpu_v2.TpuClient, until: Until) -> None:
    spec = {"parent": PARENT, "node_id": "n", "node": wanted_node()}
    wanted = tpu_v2.QueuedResource(
        {"tpu": {"node_spec": [spec]}, "queueing_policy": {"valid_until_duration": {"seconds": 60}}}
    )
    made = tpu.create_queued_resource(parent=PARENT, queued_resource_id="qr", queued_resource=wanted)
    name = made.result(timeout=20).name
    states = tpu_v2.QueuedResourceState.State
    until(lambda: tpu.get_queued_resource(name=name).state.state is states.ACTIVE)
    with pytest.raises(refusals.BadRequest, match="set force=true"):
        tpu.delete_queued_resource(name=name)
    tpu.delete_queued_resource({"name": name, "force": True}).result(timeout=20)
    assert list(tpu.list_queued_resources(parent=PARENT)) == []


def test_the_official_client_reads_the_catalogue(tpu: tpu_v2.TpuClient) -> None:
    types = [found.type_ for found in tpu.list_accelerator_types({"parent": PARENT, "page_size": 2})]
    assert "v5litepod-256" in types
    assert tpu.get_accelerator_type(name=f"{PARENT}/acceleratorTypes/v5litepod-16").accelerator_configs
    assert list(tpu.list_runtime_versions(parent=PARENT))


@pytest.mark.parametrize("version", ["v2", "v2alpha1"])
def test_the_discovery_client_speaks_both_versions(vpc: Live, version: str, until: Until) -> None:
    http = google_auth_httplib2.AuthorizedHttp(Credentials(TOKEN), http=httplib2.Http(proxy_info=None))
    options = {"api_endpoint": vpc.endpoint}
    service = build("tpu", version, http=http, client_options=options, cache_discovery=False, static_discovery=True)
    zone = service.projects().locations()
    body = {
        "name": "ignored",
        "acceleratorType": "v5litepod-16",
        "runtimeVersion": "v2-alpha-tpuv5-lite",
        "networkConfig": {"network": "net", "subnetwork": "sub"},
    }
    operation = zone.nodes().create(parent=PARENT, nodeId="pod", body=body).execute()
    until(lambda: zone.operations().get(name=operation["name"]).execute()["done"])
    name = f"{PARENT}/nodes/pod"
    assert zone.nodes().get(name=name).execute()["state"] == "READY"
    pages, request = 0, zone.acceleratorTypes().list(parent=PARENT, pageSize=3)
    while request is not None:
        answer = request.execute()
        pages += 1
        request = zone.acceleratorTypes().list_next(request, answer)
    assert pages > 1
    with pytest.raises(HttpError) as refused:
        zone.nodes().create(parent=PARENT, nodeId="pod", body=body).execute()
    assert (refused.value.status_code, "already exists" in refused.value.reason) == (409, True)
    operation = zone.nodes().delete(name=name).execute()
    until(lambda: zone.operations().get(name=operation["name"]).execute()["done"])
    assert zone.nodes().list(parent=PARENT).execute() == {}
