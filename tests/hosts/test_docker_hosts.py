import asyncio
import socket
import subprocess
import time
from dataclasses import replace

import pytest
from pod_on_docker import METADATA_PORT, NETWORK, RULES, SUBNETWORK, TOKEN, output

from rehearsal.hosts.backend import EngineUnavailable, HostsError, HostState, ImageMissing, RangeCollision
from rehearsal.hosts.docker_hosts import DockerHosts

pytestmark = pytest.mark.docker
BOOT = 90
"""Seconds that a boot may take on a machine that is busy with other tests."""


@pytest.fixture
def published(pod, until):
    """Every host has booted and published its host keys."""
    for name in pod.names[:-1]:
        until(
            lambda name=name: pod.guest.get(pod.ip(name), {}).get("hostkeys"), f"{name} has published host keys", BOOT
        )
    return pod


def booted(pod, name, until):
    until(
        lambda: pod.run(name, "systemctl is-system-running", check=False).stdout.strip() == "running",
        f"{name} has booted with no failed unit",
        BOOT,
    )


@pytest.fixture
def open_user_way(published, relay, tmp_path, monkeypatch):
    """Runs ssh as a user would: through IAP, then the bastion, with known host keys only."""
    monkeypatch.setenv("GOOGLE_OAUTH_ACCESS_TOKEN", TOKEN)

    def ssh(name, command, user="nixie"):
        config = published.ssh_config(tmp_path / "ssh_config", relay, user)
        return subprocess.run(["ssh", "-F", config, name, command], capture_output=True, text=True, timeout=2 * BOOT)

    return ssh


def test_a_user_comes_through_iap_and_the_bastion_to_every_host_and_may_sudo(open_user_way, pod, until):
    for name in pod.names[:-1]:
        until(lambda name=name: open_user_way(name, "true").returncode == 0, f"{name} lets the user in", BOOT)
        assert open_user_way(name, "hostname; sudo -n id -un").stdout.split() == [name, "root"]


def test_a_key_taken_from_the_metadata_locks_its_user_out_and_leaves_keys_that_others_added(open_user_way, pod, until):
    ip, keys = pod.ip("w1"), pod.attributes[pod.ip("w1")]["ssh-keys"]
    public = keys.partition(":")[2]
    pod.attributes[ip]["ssh-keys"] = f"{keys}\nguest:{public}"
    until(lambda: open_user_way("w1", "true", "guest").returncode != 0, "the bastion does not know the guest")
    until(lambda: "guest" in pod.run("w1", "getent passwd guest", check=False).stdout, "the guest exists", BOOT)
    authorized = "/home/guest/.ssh/authorized_keys"
    until(lambda: public in pod.run("w1", f"cat {authorized}", check=False).stdout, "the guest has the key", BOOT)
    assert pod.run("w1", f"stat -c '%U %a' {authorized}").stdout.split() == ["guest", "600"]
    assert "google-sudoers" in pod.run("w1", "id -nG guest").stdout
    pod.run("w1", f"echo ssh-ed25519 OWN >> {authorized}")
    pod.attributes[ip]["ssh-keys"] = keys
    until(lambda: public not in pod.run("w1", f"cat {authorized}").stdout, "the guest's key is gone", BOOT)
    assert pod.run("w1", f"cat {authorized}").stdout == "ssh-ed25519 OWN\n"
    assert "google-sudoers" not in pod.run("w1", "id -nG guest").stdout


def test_the_published_host_key_is_the_host_s_own(published):
    for name in published.names[:-1]:
        kind, key, *_ = published.run(name, "cat /etc/ssh/ssh_host_ed25519_key.pub").stdout.split()
        assert published.guest[published.ip(name)]["hostkeys"][kind] == key
    keys = {published.guest[published.ip(name)]["hostkeys"]["ssh-ed25519"] for name in published.names[:-1]}
    assert len(keys) == len(published.names) - 1


def test_the_startup_script_runs_as_root_into_the_journal(published, until):
    booted(published, "w0", until)
    journal = published.run("w0", "journalctl -t startup-script -o cat").stdout
    assert "hello from root" in journal
    assert "startup-script exit status 0" in journal


def test_a_v5e_host_shows_its_chips_where_jax_looks(published):
    entries = published.run(
        "w0", "cd /sys/bus/pci/devices; head -n1 */vendor */device */class | grep 0x"
    ).stdout.split()
    assert sorted(entries) == sorted(["0x1ae0", "0x0063", "0x120000"] * 4)
    nodes = published.run("w0", "find /dev/vfio -type c | sort").stdout.split()
    assert nodes == ["/dev/vfio/0", "/dev/vfio/1", "/dev/vfio/2", "/dev/vfio/3", "/dev/vfio/vfio"]
    refused = published.run("w0", "echo > /sys/bus/pci/devices/0000:00:04.0/vendor", check=False)
    assert "Read-only" in refused.stderr
    assert published.run("bastion", "ls /dev/vfio", check=False).returncode != 0


def test_a_v4_host_has_the_device_nodes_of_its_generation(pod, background, until):
    background.run(pod.hosts.create(pod.spec("v4")))
    try:
        until(lambda: pod.run("v4", "test -d /run/systemd/system", check=False).returncode == 0, "v4 boots", BOOT)
        assert pod.run("v4", "ls /dev/accel*").stdout.split() == [f"/dev/accel{chip}" for chip in range(4)]
        assert set(pod.run("v4", "cat /sys/bus/pci/devices/*/device").stdout.split()) == {"0x005e"}
    finally:
        background.run(pod.hosts.delete(pod.key("v4")))


def test_a_host_sees_its_own_metadata_under_google_s_names(pod):
    ask = "curl -sf -H 'Metadata-Flavor: Google' http://{}/computeMetadata/v1/instance/attributes/agent-worker-number"
    for server in ("metadata.google.internal", "169.254.169.254", "metadata"):
        assert pod.run("w2", ask.format(server)).stdout == "2"
    assert pod.run("w3", ask.format("metadata.google.internal")).stdout == "3"


def test_only_what_the_rules_allow_gets_in(published):
    for listener in ("w0", "bastion"):
        published.run(listener, "python3 -m http.server 9000 >/dev/null 2>&1 & disown")
    assert published.reaches("bastion", published.ip("w0"), 22)
    assert not published.reaches("bastion", published.ip("w0"), 9000)
    assert published.reaches("w1", published.ip("w0"), 9000)
    assert published.reaches("w1", "w0", 9000), "hosts know each other by name"
    assert not published.reaches("w1", published.ip("bastion"), 22)
    # The machine is outside of the VPC: it is let in as IAP, and only where IAP is.
    socket.create_connection((published.ip("bastion"), 22), 5).close()
    for address, port in ((published.ip("w0"), 22), (published.ip("w0"), 9000), (published.ip("bastion"), 9000)):
        with pytest.raises(TimeoutError):
            socket.create_connection((address, port), 1)


def test_a_rule_that_is_taken_away_stops_counting_at_once(published, background):
    assert published.reaches("bastion", published.ip("w3"), 22)
    background.run(published.hosts.apply_firewall([rule for rule in RULES if rule.name != "jump"]))
    try:
        assert not published.reaches("bastion", published.ip("w3"), 22)
        background.run(published.hosts.set_tags(published.key("w3"), ["other"]))
        assert not published.reaches("w1", published.ip("w3"), 22)
    finally:
        background.run(published.hosts.set_tags(published.key("w3"), ["pod"]))
        background.run(published.hosts.apply_firewall(RULES))
    assert published.reaches("bastion", published.ip("w3"), 22)


def test_a_host_gets_out_only_through_a_nat(published, background):
    # Something beyond the VPC: another address of this machine.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        outside = probe.getsockname()[0]
    with socket.create_server((outside, 0)) as server:
        port = server.getsockname()[1]
        assert not published.reaches("w0", outside, port)
        background.run(published.hosts.prepare_subnetwork(published.subnetwork(nat=True)))
        assert published.reaches("w0", outside, port)
        background.run(published.hosts.prepare_subnetwork(published.subnetwork(nat=False)))
        assert not published.reaches("w0", outside, port)


def test_a_host_killed_from_outside_is_reported_and_comes_back_as_it_was(published, background, until):
    key = published.key("w3")
    before = published.guest[published.ip("w3")]["hostkeys"]["ssh-ed25519"]
    began = time.monotonic()
    output(["docker", "kill", published.container("w3")])
    until(lambda: key in published.deaths, "the death is reported", 20)
    print(f"reported {time.monotonic() - began:.1f} s after docker kill was asked")
    assert background.run(published.hosts.states())[key] is HostState.DEAD
    background.run(published.hosts.start(key))
    until(lambda: published.reaches("bastion", published.ip("w3"), 22), "the host takes ssh again", BOOT)
    assert published.run("w3", "ls /dev/vfio | wc -l").stdout.strip() == "5"
    assert before in published.run("w3", "cat /etc/ssh/ssh_host_ed25519_key.pub").stdout
    with pytest.raises(TimeoutError):
        socket.create_connection((published.ip("w3"), 22), 1)
    until(lambda: published.run("w3", "wc -l < /root/boots").stdout.strip() == "2", "the script ran once a boot", BOOT)
    assert published.deaths.count(key) == 1


def test_a_host_that_is_stopped_or_reboots_itself_has_not_died(published, background, until):
    key = published.key("w2")
    published.deaths.clear()
    booted(published, "w2", until)
    background.run(published.hosts.stop(key))
    assert background.run(published.hosts.states())[key] is HostState.STOPPED
    background.run(published.hosts.start(key))
    booted(published, "w2", until)
    boot = published.run("w2", "cat /proc/1/stat | cut -d' ' -f22").stdout
    published.run("w2", "reboot", check=False)
    until(
        lambda: published.run("w2", "cat /proc/1/stat | cut -d' ' -f22", check=False).stdout not in ("", boot),
        "the host has rebooted",
        BOOT,
    )
    booted(published, "w2", until)
    assert background.run(published.hosts.states())[key] is HostState.RUNNING
    assert published.deaths == []


def test_a_new_emulator_finds_the_hosts_of_the_last_one_and_hears_of_their_deaths(published, background, until):
    heard = []

    async def died(key: str) -> None:
        heard.append(key)

    async def successor() -> DockerHosts:
        hosts = DockerHosts(published.rehearsal, METADATA_PORT)
        hosts.on_death(died)
        assert await hosts.states() == dict.fromkeys(map(published.key, published.names[:-1]), HostState.RUNNING)
        await hosts.prepare_subnetwork(published.subnetwork())
        await hosts.apply_firewall(RULES)
        await hosts.create(published.spec("w1"))
        return hosts

    hosts = background.run(successor())
    try:
        assert published.reaches("bastion", published.ip("w1"), 22)
        background.run(hosts.kill(published.key("w1")))
        until(lambda: heard == [published.key("w1")], "the successor hears of the death", 20)
        background.run(hosts.start(published.key("w1")))
    finally:
        background.run(hosts.close())
    until(lambda: published.reaches("bastion", published.ip("w1"), 22), "the host takes ssh again", BOOT)


def test_a_subnetwork_can_be_widened_under_its_running_hosts(published, background):
    wider = published.range.replace("/24", "/23")
    gateway = background.run(published.hosts.prepare_subnetwork(published.subnetwork(ip_cidr_range=wider)))
    assert gateway == published.range.replace(".0/24", ".1")
    assert published.reaches("bastion", published.ip("w0"), 22)
    assert published.reaches("w0", "169.254.169.254", 80)


def test_a_range_of_a_docker_network_is_refused_before_anything_is_made(pod, background):
    before = output(["docker", "network", "ls", "-q"])
    other = pod.subnetwork(name=f"{SUBNETWORK}-2", network=f"{NETWORK}-2")
    with pytest.raises(RangeCollision, match=r"but the Docker network tpuwright-test-.* uses .*such as 10\."):
        background.run(pod.hosts.prepare_subnetwork(other))
    assert output(["docker", "network", "ls", "-q"]) == before


def test_a_subnetwork_with_hosts_cannot_be_removed_and_all_is_listed_as_left_over(pod, background):
    with pytest.raises(HostsError, match="remove the containers in it first"):
        background.run(pod.hosts.remove_subnetwork(SUBNETWORK))
    left = background.run(pod.hosts.leftovers())
    assert len(left) == len(pod.names)
    assert any(line.startswith("network ") and SUBNETWORK in line for line in left)


def test_an_unknown_host_and_an_image_that_was_not_built_are_told_in_one_sentence(pod, background):
    with pytest.raises(HostsError, match="There is no host projects/x"):
        background.run(pod.hosts.start("projects/x"))

    async def without_image() -> None:
        hosts = DockerHosts(pod.rehearsal, METADATA_PORT, "tpuwright-host:never-built")
        try:
            await hosts.create(replace(pod.spec("v4"), key="projects/p/zones/z/instances/none"))
        finally:
            await hosts.close()

    with pytest.raises(ImageMissing, match="run `make setup`"):
        asyncio.run(without_image())


def test_without_an_engine_one_sentence_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    with pytest.raises(EngineUnavailable, match=r"^No Docker engine answers .*make setup.*\.$"):
        DockerHosts("test", METADATA_PORT)
