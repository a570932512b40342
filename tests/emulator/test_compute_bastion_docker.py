"""A bastion made through the API really boots, and ssh gets in only where a firewall rule says so."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import docker
import pytest

from rehearsal.emulator.auth import Tokens
from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.metadata import Metadata
from rehearsal.emulator.metadata_server import MetadataListeners
from rehearsal.emulator.store import Store
from rehearsal.hosts.docker_hosts import DockerHosts
from rehearsal.hosts.engine import connect
from rehearsal.hosts.image.build import build
from rehearsal.hosts.ranges import Use, docker_uses, route_uses

pytestmark = pytest.mark.docker
METADATA_PORT = 8779
ROOT = "/compute/beta/projects/demo-proj"
INSTANCES = f"{ROOT}/zones/us-west4-a/instances"
IAP: dict[str, Any] = {
    "name": "iap",
    "network": "global/networks/net",
    "allowed": [{"IPProtocol": "tcp", "ports": ["22"]}],
    "sourceRanges": ["35.235.240.0/20"],
    "targetTags": ["bastion"],
}


@pytest.fixture
def cloud() -> Cloud:
    """In place of the paper hosts of the other tests: containers."""
    build(connect(), print)
    hosts = DockerHosts(f"test-compute-{os.getpid()}", METADATA_PORT)
    return Cloud(Store(":memory:"), hosts, Tokens("a-token-for-tests"), project="demo-proj")


@pytest.fixture
def vpc(live: Any) -> Iterator[Any]:
    """The cloud with a network and a subnetwork in a range that is free on this machine; emptied afterwards."""
    listeners = MetadataListeners(Metadata(live.cloud.metadata_of, live.cloud.put_guest_attribute), METADATA_PORT)
    live.cloud.metadata_listener = listeners.listen
    live.done(live.http.post(f"{ROOT}/global/networks", json={"name": "net", "autoCreateSubnetworks": False}))
    subnetwork = {"name": "sub", "network": "global/networks/net", "ipCidrRange": _free_range()}
    live.done(live.http.post(f"{ROOT}/regions/us-west4/subnetworks", json=subnetwork))
    try:
        yield live
    finally:
        live.run(live.cloud.reset())
        live.run(listeners.close())


@pytest.fixture
def until() -> Callable[[Callable[[], Any]], Any]:
    """As in the other tests, but with the time that a machine needs to boot."""

    def wait(condition: Callable[[], Any]) -> Any:
        end = time.monotonic() + 90
        while not (value := condition()):
            assert time.monotonic() < end, "the state that the test waits for did not come within 90 s"
            time.sleep(0.1)
        return value

    return wait


def _free_range() -> str:
    api = docker.from_env().api
    uses: list[Use] = [*docker_uses(api.networks(), api.info()), *route_uses()]
    for second, third in itertools.product(range(201, 255), (os.getpid() % 200, 251)):
        found = IPv4Network(f"10.{second}.{third}.0/24")
        if not any(found.overlaps(use.network) for use in uses):
            return str(found)
    raise AssertionError("no free range on this machine")


def _instance(name: str, key: str, tags: list[str]) -> dict[str, Any]:
    return {
        "name": name,
        "machineType": "zones/us-west4-a/machineTypes/e2-micro",
        "disks": [
            {
                "boot": True,
                "autoDelete": True,
                "initializeParams": {"sourceImage": "projects/debian-cloud/global/images/family/debian-12"},
            }
        ],
        "networkInterfaces": [{"subnetwork": "regions/us-west4/subnetworks/sub"}],
        "tags": {"items": tags},
        "metadata": {
            "items": [
                {"key": "ssh-keys", "value": f"nixie:{key}"},
                {"key": "enable-guest-attributes", "value": "TRUE"},
            ]
        },
    }


def _made(vpc: Any, name: str, key: str, tags: list[str]) -> str:
    ended = vpc.done(vpc.http.post(INSTANCES, json=_instance(name, key, tags)))
    assert "error" not in ended, ended
    return str(vpc.http.get(f"{INSTANCES}/{name}").json()["networkInterfaces"][0]["networkIP"])


def _published(vpc: Any, name: str) -> list[dict[str, str]]:
    """The host keys that the guest agent has published, which it does once sshd has them."""
    answer = vpc.http.get(f"{INSTANCES}/{name}/getGuestAttributes", params={"queryPath": "hostkeys/"})
    return list(answer.json()["queryValue"]["items"]) if answer.status_code == 200 else []


def _answers(ip: str) -> bool:
    try:
        with socket.create_connection((ip, 22), timeout=2):
            return True
    except OSError:
        return False


@pytest.mark.timeout(300)
def test_a_bastion_boots_and_ssh_gets_in_by_its_rule_alone(vpc: Any, until: Callable[..., Any], tmp_path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "id"], check=True)
    key = (tmp_path / "id.pub").read_text(encoding="ascii").strip()
    bastion, other = _made(vpc, "bastion", key, ["bastion"]), _made(vpc, "other", key, ["pod"])
    keys = until(lambda: _published(vpc, "bastion"))
    assert not _answers(bastion)

    vpc.done(vpc.http.post(f"{ROOT}/global/firewalls", json=IAP))
    until(lambda: _answers(bastion))
    assert not _answers(other)
    known = "".join(f"{bastion} {item['key']} {item['value']}\n" for item in keys)
    (tmp_path / "known_hosts").write_text(known, encoding="ascii")
    command = ["ssh", "-F", "none", "-i", tmp_path / "id", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes"]
    command += ["-o", f"UserKnownHostsFile={tmp_path / 'known_hosts'}", f"nixie@{bastion}", "hostname"]
    until(lambda: subprocess.run(command, capture_output=True, check=False).returncode == 0)
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert said == "bastion"

    fingerprint = vpc.http.get(f"{INSTANCES}/bastion").json()["tags"]["fingerprint"]
    vpc.done(vpc.http.post(f"{INSTANCES}/bastion/setTags", json={"items": ["pod"], "fingerprint": fingerprint}))
    assert not _answers(bastion)

    for name in ("bastion", "other"):
        vpc.done(vpc.http.delete(f"{INSTANCES}/{name}"))
    vpc.done(vpc.http.delete(f"{ROOT}/regions/us-west4/subnetworks/sub"))
    assert vpc.run(vpc.cloud.hosts.leftovers()) == []
