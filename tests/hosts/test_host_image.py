import shutil
import stat

import pytest

from rehearsal.hosts.backend import HostsError
from rehearsal.hosts.engine import connect
from rehearsal.hosts.image import base, build


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """A copy of the image's inputs, to be changed."""
    copy = tmp_path / "image"
    shutil.copytree(build._HERE, copy)
    monkeypatch.setattr(build, "_HERE", copy)
    return copy


def program(directory, name, text):
    path = directory / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize("name", ["boot", "guest/accounts.py", "units/google-guest-agent.service", "packages.txt"])
def test_the_tag_changes_with_each_input_and_only_then(recipe, name):
    before = build.image_tag()
    assert build.image_tag() == before
    (recipe / "guest" / "__pycache__").mkdir(exist_ok=True)
    (recipe / "guest" / "__pycache__" / "x.pyc").write_bytes(b"x")
    assert build.image_tag() == before
    with (recipe / name).open("a") as file:
        file.write("\n# changed\n")
    assert build.image_tag() != before


def test_the_mirrors_of_a_debian_12_machine_are_used_and_those_of_another_are_not(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    program(
        tmp_path,
        "apt-get",
        "echo http://mirror.test/debian/ bookworm main; echo http://mirror.test/debian/ bookworm contrib\n"
        "echo http://mirror.test/security/ bookworm-security main; echo https://else.test/ cloud-sdk main",
    )
    assert list(base._mirrors()) == [
        "deb http://mirror.test/debian/ bookworm main",
        "deb http://mirror.test/security/ bookworm-security main",
    ]
    program(tmp_path, "apt-get", "echo http://archive.test/ubuntu/ noble main")
    assert list(base._mirrors()) == [f"deb {base.DEBIAN_ARCHIVE} bookworm main"]


def test_only_apt_s_settings_for_reaching_a_mirror_are_taken(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    program(
        tmp_path,
        "apt-config",
        """echo 'Acquire::http::Proxy "http://proxy.test:3128";'; echo 'Acquire::https::CAInfo "/etc/ca.pem";'
        echo 'Acquire::Languages:: "none";'; echo 'APT::Install-Recommends "1";'; echo 'Acquire::http "";'""",
    )
    assert base._mirror_settings() == [
        'Acquire::http::Proxy "http://proxy.test:3128"',
        'Acquire::https::CAInfo "/etc/ca.pem"',
    ]


def test_without_mmdebstrap_one_sentence_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostsError, match=r"mmdebstrap.*apt-get install mmdebstrap.*make setup`\.$"):
        base._bootstrap(tmp_path / "debian.tar", print)


def test_a_mirror_that_does_not_serve_is_told_in_one_sentence(tmp_path, monkeypatch):
    program(tmp_path, "mmdebstrap", "echo 'I: starting' >&2; echo 'E: apt-get update failed' >&2; exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(HostsError, match=r"^mmdebstrap could not make Debian 12 \(E: apt-get update failed\): .*\.$"):
        base._bootstrap(tmp_path / "debian.tar", print)


@pytest.mark.docker
def test_building_again_only_finds_that_the_image_is_there():
    client = connect()
    tag = build.build(client, lambda _: None)
    said = []
    assert build.build(client, said.append) == tag == build.image_tag()
    assert said == [f"host image {tag} is there"]


@pytest.mark.docker
def test_the_image_has_no_users_host_keys_or_machine_id_of_its_own():
    client = connect()
    tag = build.build(client, lambda _: None)
    script = (
        "ls /etc/ssh/ssh_host_* 2>/dev/null; cat /etc/machine-id; getent passwd | awk -F: '$3 >= 1000 && $3 < 60000'"
    )
    left = client.containers.run(tag, ["-c", script], entrypoint=["/bin/sh"], network_mode="none", remove=True)
    assert left.decode().strip() == ""
