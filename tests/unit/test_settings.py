# ruff: noqa: E501 - the sentences stand in the table as the user reads them
"""Settings: a good stack is read as written, and every refusal names key, value, consequence and fix."""

import json
from pathlib import Path

import pytest
import yaml

from tpuwright.settings import SettingsError, load, machines_in, read_logins, subnets_of

ROOT = Path(__file__).parents[2]
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIL9sP7wSzzJjq8+Yx2c1vXo3yQp9xM8C0u5rNqf7pT2 researcher@example.org"
POD = {"name": "pod", "zones": ["us-west4-a"], "accelerator_type": "v5litepod-16"}
USERS = [{"name": "nixie", "keys": [KEY]}]


def config(**settings):
    """Pulumi's configuration of a good stack with some settings replaced; None takes one away."""
    whole = {"pods": [POD], "access": {"users": USERS}, **settings}
    given = {f"tpuwright:{key}": json.dumps(value) for key, value in whole.items() if value is not None}
    return {"gcp:project": "my-project", **given}


def refusals(tmp_path, **settings):
    with pytest.raises(SettingsError) as refusal:
        load(config(**settings), tmp_path)
    return [str(problem) for problem in refusal.value.problems]


def refusal(tmp_path, **settings):
    found = refusals(tmp_path, **settings)
    assert len(found) == 1, found
    return found[0]


def pod(**changes):
    return [{**POD, **changes}]


def access(**changes):
    return {"users": USERS, **changes}


def test_the_least_that_a_stack_must_say_is_enough(tmp_path):
    settings = load(config(), tmp_path)
    assert settings.pods[0].request == "direct"
    assert settings.pods[0].provisioning_model == "standard"
    assert settings.pods[0].image == "v2-alpha-tpuv5-lite"
    assert settings.network.ip_cidr_range == "10.200.0.0/16"
    assert settings.access.mode == "bastion"
    assert settings.bastion_zone == "us-west4-a"
    assert settings.endpoints.iap == "wss://tunnel.cloudproxy.app/v4"
    assert settings.gcp.tpuV2CustomEndpoint == "https://tpu.googleapis.com/v2alpha1/"


def test_the_example_stack_is_good(tmp_path, monkeypatch):
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id_ed25519.pub").write_text(KEY + "\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    document = yaml.safe_load((ROOT / "Pulumi.example.yaml").read_text())
    given = {key: value if isinstance(value, str) else json.dumps(value) for key, value in document["config"].items()}
    settings = load(given, tmp_path)
    assert settings.pods[0].accelerator.hosts == 4


def test_a_rehearsal_on_this_machine_is_an_ordinary_stack(tmp_path):
    given = config(endpoints={"iap": "ws://127.0.0.1:8778/v4"}) | {
        "gcp:project": "tpuwright-rehearsal",
        "gcp:tpuV2CustomEndpoint": "http://127.0.0.1:8778/v2alpha1",
        "gcp:computeCustomEndpoint": "http://127.0.0.1:8778/compute/beta/",
        "gcp:somethingThatOnlyTheProviderKnows": "x",
        "another:namespace": "y",
    }
    assert load(given, tmp_path).gcp.tpuV2CustomEndpoint == "http://127.0.0.1:8778/v2alpha1/"


def test_all_problems_are_found_at_once_and_numbered(tmp_path):
    with pytest.raises(SettingsError) as refused:
        load(
            config(
                pods=[*pod(accelerator_type="v5p-12", zone="x"), *pod(name="Pod 2")],
                access={"mode": "open", "users": [{"name": "root", "keys": [KEY]}]},
                network={"ip_cidr_range": "8.8.0.0/16"},
                storage={"bucket": "b"},
                podz=[],
            ),
            tmp_path,
        )
    text = str(refused.value)
    for key in (
        "podz",
        "pods[0].accelerator_type",
        "pods[0].zone",
        "pods[1].name",
        "access.mode",
        "access.users[0].name",
        "network.ip_cidr_range",
        "storage.bucket",
    ):
        assert f". {key} " in text, text
    assert text.splitlines()[0] == "These 8 settings were refused, and nothing was changed:"
    assert text.splitlines()[8].startswith("8. ")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"pods": pod(accelerator_type="v5p-12")},
            "pods[0].accelerator_type 'v5p-12' does not exist; nearest: v5p-8 (1 host, 4 chips), "
            "v5p-16 (2 hosts, 8 chips)",
        ),
        (
            {"pods": pod(accelerator_type="v5e-16")},
            "pods[0].accelerator_type 'v5e-16' is not a name that the Cloud TPU API knows; it means v5litepod-16",
        ),
        ({"pods": [POD, POD]}, "pods[1].name 'pod' is the name of pods[0] too"),
        ({"pods": pod(name="Pod")}, "pods[0].name 'Pod' is a name that Google refuses"),
        ({"pods": pod(accelerator_typ="x")}, "pods[0].accelerator_typ is not a setting, so it would change nothing; the nearest is 'accelerator_type'"),
        ({"pods": pod(zones=["us-west4-a", "us-west4"])}, "pods[0].zones[1] 'us-west4' is a region"),
        ({"pods": pod(zones=["us-west4-a", "us-west4-a"])}, "pods[0].zones[1] 'us-west4-a' stands here twice"),
        ({"pods": pod(zones=[])}, "pods[0].zones is empty"),
        ({"pods": pod(zones="us-west4-a")}, "pods[0].zones 'us-west4-a' is text where a list is needed"),
        ({"pods": pod(request="queued")}, "pods[0].request 'queued' comes in a later version of tpuwright; today pods are made with request: direct"),
        ({"pods": pod(request="now")}, "pods[0].request 'now' does not exist; it can be: 'direct' or 'queued'"),
        ({"pods": pod(provisioning_model="flex-start")}, "pods[0].provisioning_model 'flex-start' comes in a later version of tpuwright; today 'standard' and 'spot' work"),
        ({"pods": pod(slices=2)}, "pods[0].slices 2 needs request: queued"),
        ({"pods": pod(slices=0)}, "pods[0].slices 0 is less than one slice"),
        ({"pods": pod(slices="2")}, "pods[0].slices '2' is text where a whole number is needed: write it without quotes"),
        ({"pods": pod(reservation="r")}, "pods[0].reservation 'r' needs a reservation-bound pod"),
        ({"pods": pod(wait="6h")}, "pods[0].wait '6h' needs request: queued"),
        ({"pods": pod(labels={"Team": "x"})}, "pods[0].labels 'Team' is a label key that Google refuses"),
        ({"pods": pod(labels={"team": "A b"})}, "pods[0].labels.team 'A b' is a label value that Google refuses: write at most 63 lower-case letters, digits, '-' and '_', such as 'a-b'"),
        ({"pods": pod(metadata={"ssh-keys": "x:y"})}, "pods[0].metadata.ssh-keys is not yours to set: logins come from access.users"),
        ({"pods": pod(jax_environment={"JAX_PLATFORMS": 4})}, "pods[0].jax_environment.JAX_PLATFORMS 4 is a number where text is needed: write it in quotes"),
        ({"pods": pod(jax_environment={"A B": "x"})}, "pods[0].jax_environment 'A B' is not the name of an environment variable"),
        ({"pods": pod(jax_environment={"A": "x\ny"})}, "pods[0].jax_environment.A"),
        ({"pods": None}, "pods is missing: add it, such as"),
        ({"pods": []}, "pods is empty"),
        ({"pods": "v5litepod-16"}, "pods 'v5litepod-16' is text where a list is needed"),
        ({"access": None}, "access is missing: add it, such as"),
        ({"access": {"users": []}}, "access.users is empty"),
        ({"access": {"users": [{"name": "nixie"}]}}, "access.users[0].keys is missing: add it, such as [\"~/.ssh/id_ed25519.pub\"]"),
        ({"access": access(users=USERS * 2)}, "access.users[1].name 'nixie' stands here twice"),
        ({"access": access(mode="direct")}, "access.mode 'direct' needs the addresses that people come from"),
        ({"access": access(cidrs=["203.0.113.7/32"])}, "access.cidrs [\"203.0.113.7/32\"] would open nothing"),
        ({"access": access(mode="direct", cidrs=["0.0.0.0/0"])}, "access.cidrs[0] '0.0.0.0/0' would open ssh to the whole internet"),
        ({"access": access(mode="direct", cidrs=["203.0.113.7/32", "::/0"])}, "access.cidrs[1] '::/0' would open ssh to the whole internet"),
        ({"access": access(mode="direct", cidrs=["128.0.0.0/1"])}, "access.cidrs[0] '128.0.0.0/1' would open ssh to 2,147,483,648 addresses"),
        ({"network": {"ip_cidr_range": "172.17.0.0/16"}}, "network.ip_cidr_range '172.17.0.0/16' overlaps 172.17.0.0/16, which Docker uses inside every TPU VM"),
        ({"network": {"existing": "default"}}, "network.existing 'default' comes in a later version"),
        ({"storage": {"bucket": "b"}}, "storage.bucket 'b' comes in a later version"),
        ({"storage": {"shared": "filestore"}}, "storage.shared 'filestore' comes in a later version of tpuwright; today it is 'none'"),
        ({"storage": {"shared": {"mounted": "/data"}}}, "storage.shared {\"mounted\": \"/data\"} comes in a later version"),
        ({"storage": {"shared": "usb"}}, "storage.shared 'usb' does not exist; it can be: bastion, host0, filestore"),
        ({"labels": {"tpuwright-stack": "x"}}, "labels 'tpuwright-stack' begins with 'tpuwright-'"),
        ({"labels": {f"k{i}": "v" for i in range(61)}}, "pods[0].labels make 65 labels with those of the stack, and Google takes 64"),
        ({"endpoints": {"iap": "ws://example.org/v4"}}, "endpoints.iap 'ws://example.org/v4' would send your access token in clear text"),
        ({"packages": {"ca_bundle": "nope.pem"}}, "packages.ca_bundle 'nope.pem' does not exist"),
        ({"packages": {"https_proxy": "http://me:hidden@proxy:3128"}}, "packages.https_proxy carries a password"),
        ({"podz": []}, "podz is not a setting, so it would change nothing; the nearest is 'pods'"),
        ({"gcp": {"project": "x"}}, "gcp is not a setting"),
    ],
)  # fmt: skip
def test_what_would_go_wrong_is_refused_in_one_sentence(tmp_path, settings, sentence):
    assert refusal(tmp_path, **settings).startswith(sentence)


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("gcp:project", "", "gcp:project '' is not a project ID"),
        ("gcp:project", None, "gcp:project is missing: add it, such as \"my-project\""),
        ("gcp:tpuV2CustomEndpoint", "http://tpu.example.org/v2/", "gcp:tpuV2CustomEndpoint 'http://tpu.example.org/v2/' would send"),
        ("gcp:computeCustomEndpoint", "https://me:secret@example.org/", "gcp:computeCustomEndpoint carries a password"),
    ],
)  # fmt: skip
def test_the_keys_of_the_provider_that_matter_here_are_checked_too(tmp_path, key, value, sentence):
    given = {name: text for name, text in (config() | {key: value}).items() if text is not None}
    with pytest.raises(SettingsError) as refused:
        load(given, tmp_path)
    (problem,) = refused.value.problems
    assert str(problem).startswith(sentence)


def test_a_subnet_too_small_for_the_hosts_counts_google_s_four_addresses_and_the_bastion(tmp_path):
    # A /25 gives each region a /29: eight addresses, four of them Google's. Three hosts would fit beside the bastion.
    sentence = refusal(tmp_path, network={"ip_cidr_range": "10.200.0.0/25"})
    assert "us-west4 the subnet 10.200.0.56/29 with room for 4 machines (Google keeps 4 addresses)" in sentence
    assert "and 5 are needed: write a range of /24 or wider" in sentence
    assert load(config(network={"ip_cidr_range": "10.200.0.0/24"}), tmp_path)
    direct = access(mode="direct", cidrs=["203.0.113.7/32"])
    assert load(config(network={"ip_cidr_range": "10.200.0.0/25"}, access=direct), tmp_path), "no bastion, so it fits"


def test_a_pod_needs_room_in_every_region_that_it_may_go_to(tmp_path):
    settings = load(config(pods=pod(zones=["us-west4-a", "us-west1-c"])), tmp_path)
    assert machines_in(settings.pods, settings.access) == {"us-west4": 5, "us-west1": 4}
    assert set(subnets_of(settings.pods, settings.network, settings.access)) == {"us-west4", "us-west1"}


class TestKeys:
    def test_files_are_relative_to_the_project_and_every_line_counts_once(self, tmp_path):
        other = KEY.replace("pT2 ", "pT3 ")
        (tmp_path / "team.pub").write_text(f"# the team\n{KEY}\n\n{other}\n")
        settings = load(config(access={"users": [{"name": "a", "keys": ["team.pub", KEY]}]}), tmp_path)
        (login,), problems = read_logins(settings.access, tmp_path)
        assert (problems, login.keys) == ([], (KEY, other))
        assert login.key_files == (str(tmp_path / "team.pub"),)

    def test_a_file_that_does_not_exist_is_named_with_where_it_was_looked_for(self, tmp_path):
        sentence = refusal(tmp_path, access={"users": [{"name": "a", "keys": ["keys/a.pub"]}]})
        assert sentence.startswith("access.users[0].keys[0] 'keys/a.pub' does not exist (looked for ")
        assert str(tmp_path / "keys/a.pub") in sentence

    def test_a_private_key_file_is_refused_by_name_and_its_text_is_not_shown(self, tmp_path):
        secret = "b3BlbnNzaC1rZXktdjEAAAAA"
        (tmp_path / "id").write_text(
            f"-----BEGIN OPENSSH PRIVATE KEY-----\n{secret}\n-----END OPENSSH PRIVATE KEY-----\n"
        )
        sentence = refusal(tmp_path, access={"users": [{"name": "a", "keys": ["id"]}]})
        assert sentence.startswith("access.users[0].keys[0] 'id' is a private key")
        assert ".pub" in sentence
        assert secret not in sentence

    def test_the_text_of_a_private_key_is_refused_and_not_shown(self, tmp_path):
        secret = "MIIEowIBAAKCAQEA7"
        text = f"-----BEGIN RSA PRIVATE KEY-----\n{secret}"
        sentence = refusal(tmp_path, access={"users": [{"name": "a", "keys": [text]}]})
        assert sentence.startswith("access.users[0].keys[0] is a private key")
        assert secret not in sentence

    @pytest.mark.parametrize(
        "text",
        [
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5",
            "ssh-ed25519 not-base64!",
            KEY.replace("ssh-ed25519 ", "ssh-rsa "),
            "ssh-ed25519",
        ],
    )
    def test_a_key_that_sshd_would_ignore_is_refused(self, tmp_path, text):
        assert refusal(tmp_path, access={"users": [{"name": "a", "keys": [text]}]})

    @pytest.mark.parametrize("text", ["", "hello\n", "# nothing\n"])
    def test_a_file_without_a_key_is_refused(self, tmp_path, text):
        (tmp_path / "a.pub").write_text(text)
        assert "'a.pub'" in refusal(tmp_path, access={"users": [{"name": "a", "keys": ["a.pub"]}]})
