import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from starlette.testclient import TestClient

from rehearsal.emulator.metadata import Metadata

FLAVOR = {"Metadata-Flavor": "Google"}
V1 = "/computeMetadata/v1"
ME = "10.9.0.2"
CLIENT = """
import google.auth.transport.requests
from google.auth.compute_engine import Credentials, _metadata
request = google.auth.transport.requests.Request()
credentials = Credentials()
credentials.refresh(request)
print(_metadata.ping(request), credentials.token, credentials.service_account_email)
print(_metadata.get_project_id(request))
"""


class Cloud:
    """Trees by address, as the emulator keeps them."""

    def __init__(self) -> None:
        account = {
            "email": "pod@p.iam.gserviceaccount.com",
            "aliases": ["default"],
            "scopes": ["https://www.googleapis.com/auth/cloud-platform"],
            "token": {"access_token": "ya29.secret", "expires_in": 3599, "token_type": "Bearer"},
        }
        self.attributes = {
            "agent-worker-number": "1",
            "worker-network-endpoints": "unknown:0:10.9.0.1,unknown:1:10.9.0.2",
            "tpu-env": "ACCELERATOR_TYPE: 'v5litepod-16'\nZONE: 'us-west4-a'\n",
            "ssh-keys": "ada:ssh-ed25519 A\nbob:ssh-ed25519 B",
            "enable-guest-attributes": "TRUE",
        }
        self.guest: dict[str, dict[str, str]] = {}
        self.tree = {
            "instance": {
                "id": 42,
                "hostname": "t1v-0.us-west4-a.c.p.internal",
                "tags": ["pod", "tpu"],
                "attributes": self.attributes,
                "network-interfaces": {"0": {"ip": ME, "access-configs": {}}},
                "service-accounts": {"default": account},
                "guest-attributes": self.guest,
            },
            "project": {"project-id": "p", "numeric-project-id": 123, "attributes": {}},
        }

    def view(self, ip: str):
        return self.tree if ip in (ME, "127.0.0.1") else None

    def put(self, ip: str, namespace: str, key: str, value: str) -> None:
        assert ip in (ME, "127.0.0.1")
        self.guest.setdefault(namespace, {})[key] = value


@pytest.fixture
def cloud() -> Cloud:
    return Cloud()


@pytest.fixture
def metadata(cloud: Cloud) -> Metadata:
    return Metadata(cloud.view, cloud.put)


@pytest.fixture
def host(metadata: Metadata) -> TestClient:
    return TestClient(metadata.app, client=(ME, 1), headers=FLAVOR, follow_redirects=False)


def test_a_question_without_the_header_or_from_behind_a_proxy_is_refused(host):
    assert host.get(f"{V1}/instance/id", headers={"Metadata-Flavor": "Other"}).status_code == 403
    assert host.get(f"{V1}/instance/id", headers={"X-Forwarded-For": "10.9.0.3"}).status_code == 403


def test_an_address_of_no_host_sees_nothing(metadata):
    stranger = TestClient(metadata.app, client=("10.9.0.99", 1), headers=FLAVOR)
    assert stranger.get(f"{V1}/instance/id").status_code == 404
    assert stranger.get(f"{V1}/?recursive=true").status_code == 404
    assert stranger.put(f"{V1}/instance/guest-attributes/a/b", content="x").status_code == 404


def test_a_value_is_text_with_google_s_headers(host, cloud):
    answer = host.get(f"{V1}/instance/attributes/tpu-env")
    assert answer.text == cloud.attributes["tpu-env"]
    assert answer.headers["Metadata-Flavor"] == "Google"
    assert answer.headers["Content-Type"].startswith("application/text")
    assert host.get(f"{V1}/instance/attributes/no-such").status_code == 404


def test_a_directory_is_listed_and_needs_its_slash(host):
    assert host.get(f"{V1}/instance").status_code == 301
    assert host.get(f"{V1}/instance").headers["Location"].endswith("/instance/")
    listing = host.get(f"{V1}/instance/").text.split()
    assert {"attributes/", "id", "network-interfaces/", "tags"} <= set(listing)
    assert host.get(f"{V1}/instance/network-interfaces/").text == "0/\n"
    assert host.get(f"{V1}/instance/network-interfaces/0/ip").text == ME
    assert host.get("/").text == "computeMetadata/\n"


def test_json_has_camel_case_names_and_arrays_but_leaves_attributes_as_they_are(host):
    tree = host.get(f"{V1}/?recursive=true").json()
    assert tree["project"] == {"projectId": "p", "numericProjectId": 123, "attributes": {}}
    assert tree["instance"]["networkInterfaces"] == [{"ip": ME, "accessConfigs": {}}]
    assert tree["instance"]["attributes"]["agent-worker-number"] == "1"
    assert tree["instance"]["tags"] == ["pod", "tpu"]
    assert host.get(f"{V1}/instance/tags").text == '["pod","tpu"]'
    assert host.get(f"{V1}/instance/id?alt=json").json() == 42


def test_recursive_text_has_a_line_for_each_value(host):
    lines = host.get(f"{V1}/instance/attributes/?recursive=true&alt=text").text.splitlines()
    assert "agent-worker-number 1" in lines
    assert "ssh-keys ada:ssh-ed25519 A" in lines
    assert "ssh-keys bob:ssh-ed25519 B" in lines


def test_a_token_is_given_only_to_who_asks_for_it(host):
    assert "ya29.secret" not in host.get(f"{V1}/?recursive=true").text
    assert "ya29.secret" not in host.get(f"{V1}/instance/service-accounts/default/?recursive=true&alt=text").text
    assert host.get(f"{V1}/instance/service-accounts/default/token").json()["access_token"] == "ya29.secret"


def test_guest_attributes_are_kept_and_read_back_where_they_are_enabled(host, cloud):
    key = f"{V1}/instance/guest-attributes/hostkeys/ssh-ed25519"
    assert host.put(key, content="AAAA").status_code == 200
    assert cloud.guest == {"hostkeys": {"ssh-ed25519": "AAAA"}}
    assert host.get(key).text == "AAAA"
    assert host.get(f"{V1}/instance/guest-attributes/?recursive=true").json() == {"hostkeys": {"ssh-ed25519": "AAAA"}}
    cloud.attributes["enable-guest-attributes"] = "FALSE"
    assert host.put(key, content="BBBB").status_code == 403
    assert host.get(key).status_code == 404


@pytest.mark.parametrize("path", ["instance/attributes/x", "instance/guest-attributes/only-namespace", "project/x"])
def test_nothing_but_guest_attributes_can_be_written(host, path):
    assert host.put(f"{V1}/{path}", content="x").status_code == 405


def test_a_wait_ends_when_the_value_changes(metadata, cloud, serve, background):
    port = serve(metadata.app)
    url = f"http://127.0.0.1:{port}{V1}/instance/attributes/ssh-keys"
    etag = requests.get(url, headers=FLAVOR, timeout=5).headers["ETag"]
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(
            requests.get,
            url,
            params={"wait_for_change": "true", "last_etag": etag, "timeout_sec": "20"},
            headers=FLAVOR,
            timeout=30,
        )
        assert not waiting.done()
        cloud.attributes["ssh-keys"] = "eve:ssh-ed25519 E"
        background.loop.call_soon_threadsafe(metadata.changed)
        answer = waiting.result(5)
    assert answer.text == "eve:ssh-ed25519 E"
    assert answer.headers["ETag"] != etag


def test_a_wait_with_an_old_etag_or_past_its_time_answers_at_once(host):
    began = time.monotonic()
    url = f"{V1}/instance/attributes/ssh-keys?wait_for_change=true"
    assert host.get(f"{url}&last_etag=0").status_code == 200
    assert host.get(f"{url}&timeout_sec=0").status_code == 200
    assert time.monotonic() - began < 1


def test_closing_answers_those_who_wait(metadata, serve, background):
    port = serve(metadata.app)
    began = time.monotonic()
    threading.Timer(0.3, lambda: background.loop.call_soon_threadsafe(metadata.close)).start()
    answer = requests.get(
        f"http://127.0.0.1:{port}{V1}/?recursive=true&wait_for_change=true", headers=FLAVOR, timeout=20
    )
    assert answer.status_code == 200
    assert time.monotonic() - began < 5


def test_google_s_own_client_finds_the_service_account_and_its_token(metadata, serve):
    server = f"127.0.0.1:{serve(metadata.app)}"
    # In a process of its own: google-auth reads these variables when it is imported.
    environment = {**os.environ, "GCE_METADATA_HOST": server, "GCE_METADATA_IP": server}
    found = subprocess.run([sys.executable, "-c", CLIENT], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["True", "ya29.secret", "pod@p.iam.gserviceaccount.com", "p"]
