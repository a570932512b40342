"""Google's own Python clients, pointed at the emulator, manage a network and an instance from start to end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import google_auth_httplib2
import httplib2
import pytest
from google.api_core.client_options import ClientOptions
from google.api_core.exceptions import BadRequest, Conflict, NotFound
from google.cloud import compute_v1, resourcemanager_v3
from google.iam.v1 import iam_policy_pb2
from google.oauth2.credentials import Credentials
from googleapiclient.discovery import build
from googleapiclient.errors import HttpError

PROJECT, REGION, ZONE = "demo-proj", "us-west4", "us-west4-a"
EMAIL = "pod-sa@demo-proj.iam.gserviceaccount.com"
IMAGE = "projects/debian-cloud/global/images/family/debian-12"


@pytest.fixture
def compute(live: Any) -> Callable[[Any], Any]:
    """Makes a google-cloud-compute client of a given class for the emulator."""

    def make(client: Any) -> Any:
        options = ClientOptions(api_endpoint=live.endpoint)
        return client(credentials=_credentials(live), client_options=options, transport="rest")

    return make


@pytest.fixture
def settle(compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Waits for an operation by its own client: the one inside `.result()` only knows Google's address."""

    def wait(operation: Any) -> Any:
        where = {"project": PROJECT, "operation": operation.name}
        if operation.zone:
            return compute(compute_v1.ZoneOperationsClient).wait(zone=ZONE, **where)
        if operation.region:
            return compute(compute_v1.RegionOperationsClient).wait(region=REGION, **where)
        return compute(compute_v1.GlobalOperationsClient).wait(**where)

    return wait


def _credentials(live: Any) -> Credentials:
    return Credentials(token=live.http.headers["Authorization"].removeprefix("Bearer "))


@pytest.fixture
def discovered(live: Any) -> Callable[[str, str], Any]:
    """Builds a google-api-python-client service from its own discovery document."""

    def make(service: str, version: str) -> Any:
        http = google_auth_httplib2.AuthorizedHttp(_credentials(live), http=httplib2.Http(proxy_info=None))
        root = f"{live.endpoint}/compute/{version}/" if service == "compute" else f"{live.endpoint}/"
        return build(
            service,
            version,
            http=http,
            static_discovery=True,
            client_options={"api_endpoint": root},
            cache_discovery=False,
        )

    return make


def _network(compute: Callable[[Any], Any], settle: Callable[[Any], Any]) -> None:
    networks, subnetworks = compute(compute_v1.NetworksClient), compute(compute_v1.SubnetworksClient)
    network = compute_v1.Network(name="net", auto_create_subnetworks=False)
    settle(networks.insert_unary(project=PROJECT, network_resource=network))
    subnetwork = compute_v1.Subnetwork(name="sub", network="global/networks/net", ip_cidr_range="10.200.0.0/24")
    settle(subnetworks.insert_unary(project=PROJECT, region=REGION, subnetwork_resource=subnetwork))


def _instance() -> compute_v1.Instance:
    return compute_v1.Instance(
        name="bastion",
        machine_type=f"zones/{ZONE}/machineTypes/e2-micro",
        disks=[
            compute_v1.AttachedDisk(
                boot=True,
                auto_delete=True,
                initialize_params=compute_v1.AttachedDiskInitializeParams(source_image=IMAGE),
            )
        ],
        network_interfaces=[compute_v1.NetworkInterface(subnetwork=f"regions/{REGION}/subnetworks/sub")],
        tags=compute_v1.Tags(items=["bastion"]),
    )


def test_google_cloud_compute_makes_and_deletes_a_network_with_an_instance(
    live: Any, compute: Any, settle: Any
) -> None:
    _network(compute, settle)
    instances = compute(compute_v1.InstancesClient)
    settle(instances.insert_unary(project=PROJECT, zone=ZONE, instance_resource=_instance()))
    shown = instances.get(project=PROJECT, zone=ZONE, instance="bastion")
    assert (shown.status, shown.network_interfaces[0].network_i_p) == ("RUNNING", "10.200.0.2")
    assert [one.name for one in instances.list(project=PROJECT, zone=ZONE)] == ["bastion"]
    found = {zone: scoped.instances for zone, scoped in instances.aggregated_list(project=PROJECT) if scoped.instances}
    assert list(found) == [f"zones/{ZONE}"]
    settle(instances.stop_unary(project=PROJECT, zone=ZONE, instance="bastion"))
    settle(instances.start_unary(project=PROJECT, zone=ZONE, instance="bastion"))
    settle(instances.delete_unary(project=PROJECT, zone=ZONE, instance="bastion"))
    subnetworks, networks = compute(compute_v1.SubnetworksClient), compute(compute_v1.NetworksClient)
    settle(subnetworks.delete_unary(project=PROJECT, region=REGION, subnetwork="sub"))
    settle(networks.delete_unary(project=PROJECT, network="net"))
    assert live.run(live.cloud.hosts.leftovers()) == []


def test_google_cloud_compute_reads_refusals_as_the_exceptions_of_google(compute: Any, settle: Any) -> None:
    _network(compute, settle)
    networks = compute(compute_v1.NetworksClient)
    with pytest.raises(Conflict, match="already exists"):
        networks.insert(project=PROJECT, network_resource=compute_v1.Network(name="net", auto_create_subnetworks=False))
    with pytest.raises(BadRequest, match="already being used by"):
        networks.delete(project=PROJECT, network="net")
    with pytest.raises(NotFound, match="was not found"):
        networks.get(project=PROJECT, network="no")


def test_google_cloud_compute_reads_an_operation_that_failed(compute: Any, settle: Any) -> None:
    _network(compute, settle)
    instances = compute(compute_v1.InstancesClient)
    settle(instances.insert_unary(project=PROJECT, zone=ZONE, instance_resource=_instance()))
    second = _instance()
    second.name, second.network_interfaces[0].network_i_p = "second", "10.200.0.2"
    failed = settle(instances.insert_unary(project=PROJECT, zone=ZONE, instance_resource=second))
    assert failed.error.errors[0].code == "IP_IN_USE_BY_ANOTHER_RESOURCE"


def test_google_cloud_compute_makes_rules_routers_and_disks(compute: Any, settle: Any) -> None:
    _network(compute, settle)
    firewalls, routers, disks = (
        compute(client) for client in (compute_v1.FirewallsClient, compute_v1.RoutersClient, compute_v1.DisksClient)
    )
    rule = compute_v1.Firewall(
        name="iap",
        network="global/networks/net",
        allowed=[compute_v1.Allowed(I_p_protocol="tcp", ports=["22"])],
        source_ranges=["35.235.240.0/20"],
    )
    settle(firewalls.insert_unary(project=PROJECT, firewall_resource=rule))
    nat = compute_v1.RouterNat(
        name="nat",
        nat_ip_allocate_option="AUTO_ONLY",
        source_subnetwork_ip_ranges_to_nat="ALL_SUBNETWORKS_ALL_IP_RANGES",
    )
    router = compute_v1.Router(name="rt", network="global/networks/net", nats=[nat])
    settle(routers.insert_unary(project=PROJECT, region=REGION, router_resource=router))
    settle(disks.insert_unary(project=PROJECT, zone=ZONE, disk_resource=compute_v1.Disk(name="data", size_gb=20)))
    assert firewalls.get(project=PROJECT, firewall="iap").priority == 1000
    assert routers.get(project=PROJECT, region=REGION, router="rt").nats[0].name == "nat"
    assert disks.get(project=PROJECT, zone=ZONE, disk="data").size_gb == 20


@pytest.mark.parametrize("version", ["v1", "beta"])
def test_google_api_python_client_speaks_both_versions(live: Any, discovered: Any, version: str) -> None:
    client = discovered("compute", version)
    body = {"name": "net", "autoCreateSubnetworks": False}
    operation = client.networks().insert(project=PROJECT, body=body).execute()
    assert client.globalOperations().wait(project=PROJECT, operation=operation["name"]).execute()["status"] == "DONE"
    shown = client.networks().get(project=PROJECT, network="net").execute()
    assert shown["selfLink"] == f"{live.endpoint}/compute/{version}/projects/{PROJECT}/global/networks/net"
    with pytest.raises(HttpError) as refused:
        client.networks().insert(project=PROJECT, body=body).execute()
    assert refused.value.resp.status == 409


def test_google_api_python_client_manages_accounts_policies_and_services(discovered: Any) -> None:
    accounts = discovered("iam", "v1").projects().serviceAccounts()
    accounts.create(name=f"projects/{PROJECT}", body={"accountId": "pod-sa"}).execute()
    projects = discovered("cloudresourcemanager", "v1").projects()
    policy = projects.getIamPolicy(resource=PROJECT, body={}).execute()
    policy["bindings"] = [{"role": "roles/logging.logWriter", "members": [f"serviceAccount:{EMAIL}"]}]
    written = projects.setIamPolicy(resource=PROJECT, body={"policy": policy}).execute()
    assert written["bindings"] == policy["bindings"]
    services = discovered("serviceusage", "v1").services()
    services.enable(name=f"projects/{PROJECT}/services/file.googleapis.com", body={}).execute()
    assert services.get(name=f"projects/{PROJECT}/services/file.googleapis.com").execute()["state"] == "ENABLED"
    accounts.delete(name=f"projects/{PROJECT}/serviceAccounts/{EMAIL}").execute()
    assert accounts.list(name=f"projects/{PROJECT}").execute() == {}


def test_google_cloud_resource_manager_reads_and_writes_the_policy(live: Any, compute: Any) -> None:
    live.http.post(f"/v1/projects/{PROJECT}/serviceAccounts", json={"accountId": "pod-sa"})
    projects = compute(resourcemanager_v3.ProjectsClient)
    assert projects.get_project(name=f"projects/{PROJECT}").project_id == PROJECT
    policy = projects.get_iam_policy(iam_policy_pb2.GetIamPolicyRequest(resource=f"projects/{PROJECT}"))
    policy.bindings.add(role="roles/logging.logWriter", members=[f"serviceAccount:{EMAIL}"])
    request = iam_policy_pb2.SetIamPolicyRequest(resource=f"projects/{PROJECT}", policy=policy)
    assert projects.set_iam_policy(request).bindings[0].role == "roles/logging.logWriter"
    with pytest.raises(Conflict, match="concurrent policy changes"):
        projects.set_iam_policy(request)
