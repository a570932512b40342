"""The stand-in sends what the official plugin sent: the recordings of it, replayed step by step."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from google_stub import GoogleStub, Sent
from pulumi_project import Project

pytestmark = pytest.mark.pulumi
RECORDINGS = Path(__file__).parents[1] / "emulator" / "wire"

CORE = """
net = gcp.compute.Network("net", name="net", auto_create_subnetworks=False)
sub = gcp.compute.Subnetwork("sub", name="sub", network=net.id, region="europe-west4",
    ip_cidr_range={range!r}, private_ip_google_access=True)
gcp.compute.Firewall("fw", name="fw", network=net.id, source_ranges=[{source!r}], target_tags=["tpu"],
    allows=[dict(protocol="tcp", ports=["22"])])
rt = gcp.compute.Router("rt", name="rt", network=net.id, region="europe-west4")
gcp.compute.RouterNat("nat", name="nat", router=rt.name, region="europe-west4",
    nat_ip_allocate_option="AUTO_ONLY", source_subnetwork_ip_ranges_to_nat="ALL_SUBNETWORKS_ALL_IP_RANGES")
gcp.tpu.V2Vm("pod", name="pod", zone="europe-west4-a", accelerator_type={type!r},
    runtime_version="v2-alpha-tpuv5-lite", labels={{"a": {label!r}}}, tags=["tpu"],
    metadata={{"ssh-keys": {keys!r}}}, scheduling_config=dict(spot=True),
    network_config=dict(network=net.id, subnetwork=sub.id, enable_external_ips=False))
"""

MORE = """
net = gcp.compute.Network("net", name="net", auto_create_subnetworks=False)
sub = gcp.compute.Subnetwork("sub", name="sub", network=net.id, region="europe-west4",
    ip_cidr_range="172.21.12.0/24", private_ip_google_access=True)
gcp.compute.Disk("share", name="share", zone="europe-west4-a", size=200, type="pd-balanced")
gcp.compute.Instance("bastion", name="bastion", zone="europe-west4-a", machine_type="e2-micro", tags=["bastion"],
    boot_disk=dict(initialize_params=dict(size=10, image="projects/debian-cloud/global/images/family/debian-12")),
    network_interfaces=[dict(subnetwork=sub.id)], metadata={"enable-oslogin": "TRUE"},
    shielded_instance_config=dict(enable_secure_boot=True))
sa = gcp.serviceaccount.Account("sa", account_id="pod-sa", display_name="pod")
gcp.projects.IAMMember("log", project="demo-proj", role="roles/logging.logWriter", member=sa.member)
gcp.projects.Service("tpu", service="tpu.googleapis.com", disable_on_destroy=False)
gcp.tpu.V2QueuedResource("qr", name="qr", zone="europe-west4-a", tpu=dict(node_specs=[dict(node_id="n1",
    parent="projects/demo-proj/locations/europe-west4-a",
    node=dict(accelerator_type="v5litepod-16", runtime_version="v2-alpha-tpuv5-lite"))]))
"""
# What the further types of the recording are found by; the stand-in has none of them.
OTHER_TYPES = re.compile("^/(storage|file)/|resourcePolicies|instanceTemplates|instanceGroupManagers|/projects/1$")
FIRST = {
    "range": "172.21.12.0/24",
    "source": "35.235.240.0/20",
    "type": "v5litepod-16",
    "label": "b",
    "keys": "nixie:ssh-ed25519 AAA nixie",
}
CHANGES: list[dict[str, str]] = [
    {},
    {},
    {"label": "c"},
    {"keys": "nixie:ssh-ed25519 BBB nixie"},
    {"source": "203.0.113.0/24"},
    {"range": "172.21.8.0/21"},
    {"type": "v5litepod-32"},
]


def recorded(name: str) -> list[tuple[str, list[Sent]]]:
    """The steps of a recording: title, and what was sent in it."""
    steps: list[tuple[str, list[Sent]]] = []
    for line in (RECORDINGS / name).read_text().splitlines():
        entry: dict[str, Any] = json.loads(line)
        if "step" in entry:
            steps.append((entry["step"], []))
        elif not OTHER_TYPES.search(entry["path"]):
            steps[-1][1].append(Sent(entry["method"], entry["path"], entry["query"], entry.get("body")))
    return steps


def by_resource(requests: Iterable[Sent]) -> dict[str, list[str]]:
    """The requests of each resource in their order; those of different resources may come in any."""
    found = defaultdict(list)
    for sent in requests:
        # A creation is posted to the collection; it belongs to the resource that its body names.
        body = sent.body or {}
        name = body.get("name") or body.get("accountId")
        path = re.sub(r":(get|set)IamPolicy$", ":policy", sent.path)
        path = f"{path}/{name}" if sent.method == "POST" and name else path
        owner = (
            re.sub(r"/(expandIpCidrRange|services/[^/]+:enable)$", "", path).replace("pod-sa@", "pod-sa/").split("/")
        )
        found["/".join(owner[:10])].append(
            f"{sent.method} {sent.path}?{sent.query} {json.dumps(sent.body, sort_keys=True)}"
        )
    return {key.replace("/demo-proj.iam.gserviceaccount.com", ""): value for key, value in found.items()}


def test_core_types_send_what_the_official_plugin_sent_step_by_step(project: Project, google: GoogleStub) -> None:
    # The recording server answered expandIpCidrRange with an operation and kept the old range, as the stub does.
    steps = recorded("official-plugin-core.jsonl")
    values = dict(FIRST)
    for (title, expected), change in zip(steps[:7], CHANGES, strict=True):
        values |= change
        project.program(CORE.format(**values))
        project.up()
        assert by_resource(google.take()) == by_resource(expected), title
    for command, (title, expected) in zip(("refresh", "destroy"), steps[-2:], strict=True):
        project.run(command, "--yes", "--skip-preview")
        assert by_resource(google.take()) == by_resource(expected), title


def test_access_and_machines_send_what_the_official_plugin_sent(project: Project, google: GoogleStub) -> None:
    steps = dict(recorded("official-plugin-more.jsonl"))
    project.program(MORE)
    project.up()
    assert by_resource(google.take()) == by_resource(steps["pulumi up: create all"])
    project.run("refresh", "--yes", "--skip-preview")
    # In the recording the refresh met an instance that an update replaced first; only the reads are a refresh.
    reads = [
        sent for sent in steps["pulumi refresh"] if sent.method != "DELETE" and not sent.path.endswith("/instances")
    ]
    refreshed, expected = by_resource(google.take()), by_resource(reads)
    for key in expected:
        if "instances/bastion" in key or "disks/bastion" in key:
            expected[key] = expected[key][-1:]
    assert refreshed == expected
    project.run("destroy", "--yes", "--skip-preview")
    assert by_resource(google.take()) == by_resource(steps["pulumi destroy"])
