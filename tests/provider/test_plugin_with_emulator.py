"""The stand-in and the embedded cloud together: every type, from nothing and back to nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from emulated_cloud import TOKEN, Live, make_cloud, serve
from pulumi_project import Project

pytestmark = pytest.mark.pulumi

PROGRAM = """
zone, region = "us-west4-a", "us-west4"
net = gcp.compute.Network("net", name="net", auto_create_subnetworks=False)
sub = gcp.compute.Subnetwork("sub", name="sub", network=net.id, region=region, ip_cidr_range={range!r},
    private_ip_google_access=True)
rule = gcp.compute.Firewall("rule", name="rule", network=net.id, source_ranges=["35.235.240.0/20"],
    target_tags=["tpu"], allows=[dict(protocol="tcp", ports={ports!r})])
router = gcp.compute.Router("router", name="router", network=net.id, region=region)
gcp.compute.RouterNat("nat", name="nat", router=router.name, region=region, nat_ip_allocate_option="AUTO_ONLY",
    source_subnetwork_ip_ranges_to_nat="ALL_SUBNETWORKS_ALL_IP_RANGES", min_ports_per_vm={min_ports!r})
gcp.compute.Address("address", name="address", region=region)
gcp.compute.Disk("disk", name="disk", zone=zone, size=20, type="pd-balanced", labels={{"a": {label!r}}})
account = gcp.serviceaccount.Account("account", account_id="pod-hosts", display_name={display!r})
gcp.projects.IAMMember("member", project="demo-proj", role="roles/logging.logWriter", member=account.member)
gcp.projects.Service("tpu", service="tpu.googleapis.com", disable_on_destroy=False)
gcp.compute.Instance("bastion", name="bastion", zone=zone, machine_type="e2-micro", tags=["bastion"],
    boot_disk=dict(initialize_params=dict(size=10, image="debian-cloud/debian-12")),
    network_interfaces=[dict(subnetwork=sub.id)], metadata={{"enable-oslogin": "FALSE", "ssh-keys": {keys!r}}},
    service_account=dict(email=account.email, scopes=["cloud-platform"]), labels={{"a": {label!r}}},
    shielded_instance_config=dict(enable_secure_boot=True))
pod = gcp.tpu.V2Vm("pod", name="pod", zone=zone, accelerator_type={type!r}, labels={{"a": {label!r}}},
    runtime_version="v2-alpha-tpuv5-lite", tags=["tpu"], metadata={{"ssh-keys": {keys!r}}},
    scheduling_config=dict(preemptible=False, spot=True), service_account=dict(email=account.email, scopes=[
        "https://www.googleapis.com/auth/cloud-platform"]),
    network_config=dict(network=net.id, subnetwork=sub.id, enable_external_ips=False))
gcp.tpu.V2QueuedResource("queued", name="queued", zone=zone, tpu=dict(node_specs=[dict(node_id="later",
    parent="projects/demo-proj/locations/us-west4-a",
    node=dict(accelerator_type="v5litepod-4", runtime_version="v2-alpha-tpuv5-lite",
        network_config=dict(network=net.id, subnetwork=sub.id)))]))
pulumi.export("addresses", pod.network_endpoints.apply(lambda them: [e.ip_address for e in them]))
"""
VALUES = {
    "range": "10.200.0.0/24",
    "ports": ["22"],
    "min_ports": None,
    "label": "b",
    "display": "hosts",
    "keys": "me:ssh-ed25519 AAAA me",
    "type": "v5litepod-16",
}


@pytest.fixture
def live() -> Iterator[Live]:
    yield from serve(make_cloud())


@pytest.fixture
def stack(tmp_path: Path, pulumi: Path, live: Live) -> Project:
    return Project.make(tmp_path / "p", pulumi, live.endpoint, TOKEN)


def test_every_type_lives_its_whole_life_in_the_embedded_cloud(stack: Project, live: Live) -> None:
    root = "/compute/v1/projects/demo-proj"
    node = "/v2/projects/demo-proj/locations/us-west4-a/nodes/pod"
    stack.program(PROGRAM.format(**VALUES))
    stack.up()
    assert len(stack.outputs()["addresses"]) == 4
    stack.run("preview", "--expect-no-changes")
    stack.run("refresh", "--yes", "--skip-preview", "--expect-no-changes")
    stack.run("preview", "--expect-no-changes")

    changed = VALUES | {
        "range": "10.200.0.0/23",
        "ports": ["22", "8080"],
        "min_ports": 128,
        "label": "c",
        "display": "all hosts",
        "keys": "me:ssh-ed25519 BBBB me",
    }
    stack.program(PROGRAM.format(**changed))
    shown = stack.up()
    assert "replaced" not in shown
    assert live.http.get(f"{root}/regions/us-west4/subnetworks/sub").json()["ipCidrRange"] == "10.200.0.0/23"
    assert live.http.get(f"{root}/global/firewalls/rule").json()["allowed"][0]["ports"] == ["22", "8080"]
    assert live.http.get(f"{root}/regions/us-west4/routers/router").json()["nats"][0]["minPortsPerVm"] == 128
    assert live.http.get(f"{root}/zones/us-west4-a/disks/disk").json()["labels"]["a"] == "c"
    items = live.http.get(f"{root}/zones/us-west4-a/instances/bastion").json()["metadata"]["items"]
    assert {"key": "ssh-keys", "value": changed["keys"]} in items
    assert live.http.get(node).json()["metadata"]["ssh-keys"] == changed["keys"]
    stack.run("preview", "--expect-no-changes")

    stack.program(PROGRAM.format(**changed | {"type": "v5litepod-8"}))
    assert "replaced" in stack.up()
    assert live.http.get(node).json()["acceleratorType"] == "v5litepod-8"

    live.http.post(f"/_emulator/nodes/{node.removeprefix('/v2/')}:preempt")
    stack.run("refresh", "--yes", "--skip-preview")
    # As with the official plugin: the state says so, and nothing is replaced unless it is asked for.
    assert stack.resources()["pod"]["outputs"]["state"] == "PREEMPTED"

    # The official plugin does not force the deletion of a queued resource, so Google refuses one that has nodes.
    live.done(live.http.delete("/v2/projects/demo-proj/locations/us-west4-a/nodes/later"))
    stack.run("destroy", "--yes", "--skip-preview")
    assert stack.resources() == {}
    left = [
        *live.http.get("/v2/projects/demo-proj/locations/us-west4-a/nodes").json().get("nodes", []),
        *live.http.get(f"{root}/zones/us-west4-a/instances").json().get("items", []),
        *live.http.get(f"{root}/zones/us-west4-a/disks").json().get("items", []),
        *live.http.get(f"{root}/regions/us-west4/subnetworks").json().get("items", []),
        *live.http.get("/v1/projects/demo-proj/serviceAccounts").json().get("accounts", []),
    ]
    assert [one for one in left if "default" not in str(one.get("email", ""))] == []


def test_no_capacity_is_the_api_s_own_sentence_and_leaves_nothing(stack: Project, live: Live) -> None:
    live.http.patch("/_emulator/settings", json={"capacity": {"us-west4-a/*": 0}}).raise_for_status()
    stack.program(
        "net = gcp.compute.Network('net', auto_create_subnetworks=False)\n"
        "sub = gcp.compute.Subnetwork('sub', network=net.id, region='us-west4', ip_cidr_range='10.200.0.0/24')\n"
        "gcp.tpu.V2Vm('pod', name='pod', zone='us-west4-a', accelerator_type='v5litepod-4',"
        " runtime_version='v2-alpha-tpuv5-lite', network_config=dict(network=net.id, subnetwork=sub.id))\n"
    )
    shown = stack.up(fails=True)
    assert "code 8, message: There is no more capacity in the zone" in shown
    assert "pod" not in stack.resources()
    assert "Traceback" not in shown
    assert "KeyboardInterrupt" not in shown
    assert live.http.get("/v2/projects/demo-proj/locations/us-west4-a/nodes").json().get("nodes", []) == []
