"""The modules that the roles run on hosts: what they decide, and what they do to files of this machine's own."""

from __future__ import annotations

import base64
import fcntl
import getpass
import hashlib
import io
import json
import os
import pwd
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

MODULES = Path(__file__).resolve().parents[2] / "plugins" / "modules"
sys.path.insert(0, str(MODULES))

import apt_packages  # noqa: E402 # type: ignore[import-not-found]
import ca_certificates  # noqa: E402 # type: ignore[import-not-found]
import host_files  # noqa: E402 # type: ignore[import-not-found]
import host_state  # noqa: E402 # type: ignore[import-not-found]
import pod_identity  # noqa: E402 # type: ignore[import-not-found]
import pod_trust  # noqa: E402 # type: ignore[import-not-found]
import uv_binary  # noqa: E402 # type: ignore[import-not-found]
import uv_venv  # noqa: E402 # type: ignore[import-not-found]

ME = getpass.getuser()


def run(module: str, check: bool = False, **arguments: Any) -> dict[str, Any]:
    """A module's answer, run as Ansible runs it."""
    arguments |= {"_ansible_check_mode": check, "_ansible_remote_tmp": "/tmp"}
    done = subprocess.run(
        [sys.executable, str(MODULES / f"{module}.py")],
        input=json.dumps({"ANSIBLE_MODULE_ARGS": arguments}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def certificate(content: bytes) -> str:
    return f"-----BEGIN CERTIFICATE-----\n{base64.encodebytes(content).decode()}-----END CERTIFICATE-----\n"


def test_only_what_the_distribution_does_not_ship_is_added() -> None:
    ours, shipped = certificate(b"ours" * 20), certificate(b"shipped" * 20)
    bundle = f"# a comment\n{shipped}\nsome text\n{ours}{ours}"
    known = set(ca_certificates.certificates(shipped))
    (name,) = ca_certificates.wanted_files(bundle, known)
    assert name == f"tpuwright-{hashlib.sha256(b'ours' * 20).hexdigest()[:16]}.crt"
    assert ca_certificates.wanted_files(bundle, known)[name] == ours


def test_a_bundle_without_certificates_is_refused_by_name() -> None:
    answer = run("ca_certificates", check=True, bundle="not PEM", source="/srv/ca.pem")
    assert answer["failed"]
    assert "The CA bundle /srv/ca.pem holds no PEM certificate" in answer["msg"]


def test_the_age_of_package_lists_is_infinite_when_there_are_none(tmp_path: Path) -> None:
    assert apt_packages.lists_age(tmp_path, time.time()) == float("inf")
    (tmp_path / "deb.example_main_Packages.lz4").write_text("")
    assert apt_packages.lists_age(tmp_path, time.time() + 100) == pytest.approx(100, abs=5)


def test_a_lock_that_stays_is_given_up_at_the_deadline_with_its_holders_name(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    code = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX); print(1); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-u", "-c", code, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(TimeoutError, match=rf"is still held by python[\w.]* \(process {holder.pid}\)"):
            apt_packages.wait_for_locks((str(lock),), time.monotonic() + 0.1)
        holder.communicate()
    apt_packages.wait_for_locks((str(lock),), time.monotonic())


def test_waiting_for_apt_does_not_keep_its_lock(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.write_text("")
    apt_packages.wait_for_locks((str(lock), str(tmp_path / "absent")), time.monotonic())
    with lock.open("r+") as handle:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_packages_that_are_only_half_installed_count_as_missing() -> None:
    output = "zsh installed\ngit half-configured\n"
    assert host_state.missing_packages(["zsh", "git", "mosh"], output) == ["git", "mosh"]


@pytest.mark.parametrize("mark", ["run/systemd/container", ".dockerenv"])
def test_a_container_is_known_by_its_marks(tmp_path: Path, mark: str) -> None:
    assert not host_state.in_container(tmp_path)
    (tmp_path / mark).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / mark).write_text("")
    assert host_state.in_container(tmp_path)


def test_the_hugepages_setting_is_the_one_in_brackets(tmp_path: Path) -> None:
    assert host_state.hugepages(tmp_path) == ""
    setting = tmp_path / "sys/kernel/mm/transparent_hugepage/enabled"
    setting.parent.mkdir(parents=True)
    setting.write_text("always [madvise] never\n")
    assert host_state.hugepages(tmp_path) == "madvise"


def test_a_uv_whose_program_is_gone_is_no_uv(tmp_path: Path) -> None:
    program = tmp_path / "uv" / "0.13.9" / "uv"
    program.parent.mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(program)
    assert host_state.linked_uv(link) == ""
    program.write_text("")
    assert host_state.linked_uv(link) == "0.13.9"


def test_a_block_is_put_in_replaced_and_taken_out_and_the_rest_stays() -> None:
    first = host_files.with_block("PATH=/bin\n", "jax", "A=1\nB=2")
    assert first == "PATH=/bin\n# BEGIN tpuwright: jax\nA=1\nB=2\n# END tpuwright: jax\n"
    both = host_files.with_block(first, "packages", "C=3")
    assert "C=3" in both
    assert host_files.with_block(both, "jax", "A=9").count("# BEGIN tpuwright") == 2
    assert host_files.with_block(host_files.with_block(both, "jax", ""), "packages", "") == "PATH=/bin\n"


def files(tmp_path: Path, **changes: Any) -> dict[str, Any]:
    return {"path": str(tmp_path / "new" / "a.conf"), "content": "one\n", "owner": ME} | changes


def test_a_file_is_written_once_and_again_only_when_it_differs(tmp_path: Path) -> None:
    assert run("host_files", check=True, files=[files(tmp_path)])["changed"]
    assert not (tmp_path / "new").exists()
    assert run("host_files", files=[files(tmp_path)])["changed"]
    assert (tmp_path / "new" / "a.conf").read_text() == "one\n"
    assert not run("host_files", files=[files(tmp_path)])["changed"]
    (tmp_path / "new" / "a.conf").chmod(0o600)
    assert run("host_files", files=[files(tmp_path)])["written"] == [str(tmp_path / "new" / "a.conf")]


def test_a_file_that_its_program_refuses_stays_as_it_was(tmp_path: Path) -> None:
    run("host_files", files=[files(tmp_path)])
    answer = run("host_files", files=[files(tmp_path, content="two\n", validate="grep one %s")])
    assert "was left as it was: grep refuses the new one" in answer["msg"]
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.conf"]
    assert (tmp_path / "new" / "a.conf").read_text() == "one\n"


def test_a_file_that_belongs_to_the_user_is_written_only_where_there_is_none(tmp_path: Path) -> None:
    entry = files(tmp_path, once=True)
    assert run("host_files", files=[entry])["changed"]
    (tmp_path / "new" / "a.conf").write_text("mine\n")
    assert not run("host_files", files=[entry])["changed"]


def test_an_exact_directory_loses_every_other_file(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "old.conf").write_text("")
    arguments = {"files": [files(tmp_path)], "exact": [str(tmp_path / "new")]}
    assert run("host_files", check=True, **arguments)["removed"] == [str(tmp_path / "new" / "old.conf")]
    run("host_files", **arguments)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["a.conf"]


def test_a_key_is_made_once_by_its_user_and_its_private_half_is_not_returned(tmp_path: Path) -> None:
    entry = pwd.struct_passwd((ME, "x", os.getuid(), os.getgid(), "", str(tmp_path), "/bin/sh"))
    assert pod_identity.public_half(entry) is None
    pod_identity.make_key(entry, "pod-w0")
    public = pod_identity.public_half(entry)
    assert public is not None
    assert public.startswith("ssh-ed25519 ")
    assert public.endswith(f" {ME}@pod-w0")
    (tmp_path / ".ssh" / "id_ed25519.pub").unlink()
    assert pod_identity.public_half(entry).split()[:2] == public.split()[:2]


def test_a_user_who_is_not_there_is_refused_except_in_check_mode() -> None:
    assert run("pod_identity", check=True, users=["no-such-user"], comment="w0")["changed"]
    answer = run("pod_identity", users=["no-such-user"], comment="w0")
    assert "pod_ssh_users names 'no-such-user', who is not a user of this host" in answer["msg"]


MEMBERS = [{"name": f"pod-w{n}", "worker": n, "internal_ip": f"10.0.0.{n}"} for n in (0, 1)]
IDENTITIES = {
    f"pod-w{n}": {"host_keys": [f"ssh-ed25519 HOST{n}"], "users": {"ada": f"ssh-ed25519 ADA{n} ada@pod-w{n}"}}
    for n in (0, 1)
}


def test_members_are_known_by_name_short_name_and_address() -> None:
    text = pod_trust.known_hosts("pod", MEMBERS, IDENTITIES, "github.com ssh-ed25519 X\n")
    assert text.splitlines()[0] == "github.com ssh-ed25519 X"
    assert "pod-w1,w1,10.0.0.1 ssh-ed25519 HOST1" in text.splitlines()
    assert pod_trust.known_hosts("pod", MEMBERS, IDENTITIES, text) == text


def test_a_members_key_is_good_only_from_the_members_addresses() -> None:
    lines = pod_trust.user_keys("ada", MEMBERS, IDENTITIES).splitlines()
    assert lines[0] == 'from="10.0.0.0,10.0.0.1" ssh-ed25519 ADA0 ada@pod-w0'
    assert len(lines) == 2


def test_a_run_that_misses_a_member_keeps_what_was_known_of_it() -> None:
    fresh = {"pod-w0": {"host_keys": ["ssh-ed25519 NEW0"], "users": {"ada": "ssh-ed25519 NEWADA0"}}}
    merged = pod_trust.merged(MEMBERS, IDENTITIES, fresh)
    assert merged["pod-w0"] == fresh["pod-w0"]
    assert merged["pod-w1"] == IDENTITIES["pod-w1"]


def test_who_left_the_pod_is_forgotten() -> None:
    assert set(pod_trust.merged(MEMBERS[:1], IDENTITIES, {})) == {"pod-w0"}


def test_a_state_file_that_was_cut_short_is_gathered_anew(tmp_path: Path) -> None:
    (tmp_path / "var/lib/tpuwright").mkdir(parents=True)
    (tmp_path / pod_trust.STATE).write_text('{"pod-w0": ')
    parameters = {"pod": "pod", "members": MEMBERS, "identities": IDENTITIES, "users": ["ada"]}
    assert "ADA1" in pod_trust.wanted_files(tmp_path, parameters)[pod_trust.STATE]


def test_uvs_wheel_is_found_on_an_index_page_whatever_its_links_look_like() -> None:
    name = "uv-0.13.9-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
    page = f'<a href="../../files/{name}#sha256=0">\n {name} </a><a href="x">uv-0.13.9.tar.gz</a>'
    base = "https://mirror.example/simple/uv/"
    assert uv_binary.wheel_address(page, base, "0.13.9", "x86_64") == f"https://mirror.example/files/{name}"
    assert uv_binary.wheel_address(page, base, "0.13.9", "aarch64") is None
    assert uv_binary.wheel_address(page, base, "0.13.8", "x86_64") is None


def serve(tmp_path: Path) -> tuple[str, str]:
    """An index with a uv wheel, as a file:// URL, and the wheel's hash."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for program in ("uv", "uvx"):
            archive.writestr(f"uv-9.9.9.data/scripts/{program}", "#!/bin/sh\necho uv 9.9.9\n")
    name = f"uv-9.9.9-py3-none-manylinux_2_17_{os.uname().machine}.whl"
    page = tmp_path / "simple" / "uv" / "index.html"
    (page.parent).mkdir(parents=True)
    (page.parent / name).write_bytes(buffer.getvalue())
    page.write_text(f'<a href="{name}">{name}</a>')
    return str(page), hashlib.sha256(buffer.getvalue()).hexdigest()


def test_a_wheel_with_another_hash_is_not_installed(tmp_path: Path, httpserver_directory: str) -> None:
    _, digest = serve(tmp_path)
    arguments = {
        "version": "9.9.9",
        "index_url": f"{httpserver_directory}/simple",
        "dest": str(tmp_path / "opt"),
        "links": str(tmp_path / "bin"),
    }
    machine = os.uname().machine
    answer = run("uv_binary", **arguments, sha256={machine: "0" * 64})
    assert f"has SHA-256 {digest}, but python_uv_sha256 says {'0' * 64}: it was not installed" in answer["msg"]
    assert not (tmp_path / "opt").exists()
    assert run("uv_binary", check=True, **arguments, sha256={machine: digest})["changed"]
    assert run("uv_binary", **arguments, sha256={machine: digest})["changed"]
    assert subprocess.check_output([str(tmp_path / "bin" / "uv")], text=True) == "uv 9.9.9\n"
    assert not run("uv_binary", **arguments, sha256={machine: digest})["changed"]
    answer = run("uv_binary", **arguments | {"version": "1.0"}, sha256={machine: digest})
    assert "has no uv 1.0 for Linux" in answer["msg"]


@pytest.fixture
def httpserver_directory(tmp_path: Path) -> Any:
    command = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        port = server.stdout.readline().split(" port ")[1].split()[0]
        yield f"http://127.0.0.1:{port}"
        server.terminate()


@pytest.mark.parametrize(
    ("found", "minimum", "version", "enough"),
    [
        ("3.11.2", "3.11", "", True),
        ("3.10.12", "3.11", "", False),
        ("3.9.1", "3.11", "", False),
        ("3.13.1", "3.11", "3.12", False),
        ("3.12.4", "3.11", "3.12", True),
    ],
)
def test_an_interpreter_is_new_enough_or_exactly_the_one_asked_for(
    found: str, minimum: str, version: str, enough: bool
) -> None:
    assert uv_venv.satisfies(found, minimum, version) is enough


def venv(tmp_path: Path, **changes: Any) -> dict[str, Any]:
    uv = str(Path(sys.executable).with_name("uv"))
    return {"path": str(tmp_path / "venv"), "owner": ME, "uv": uv, "minimum": "3.8"} | changes


def test_a_host_whose_python_is_too_old_and_that_cannot_fetch_one_is_told_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "never")  # as where GitHub cannot be reached
    answer = run("uv_venv", **venv(tmp_path, minimum="3.99"))
    assert answer["msg"].startswith("This host has no Python of at least 3.99, and uv could not fetch one (")
    assert "python_install_mirror" in answer["msg"]
    assert not (tmp_path / "venv").exists()


def test_a_directory_that_is_no_environment_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "thesis.tex").write_text("x")
    answer = run("uv_venv", **venv(tmp_path))
    assert "is there and is not a virtual environment: it was not touched" in answer["msg"]
    assert (tmp_path / "venv" / "thesis.tex").exists()


def test_half_an_environment_that_uv_left_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "CACHEDIR.TAG").write_text("Signature: x")
    assert run("uv_venv", **venv(tmp_path))["changed"]
    assert (tmp_path / "venv" / "bin" / "python").exists()


def test_an_environment_for_nobody_is_refused_except_in_check_mode(tmp_path: Path) -> None:
    assert run("uv_venv", check=True, **venv(tmp_path, owner="no-such-user"))["changed"]
    assert "no-such-user is not a user of this host" in run("uv_venv", **venv(tmp_path, owner="no-such-user"))["msg"]


def test_an_environment_whose_interpreter_has_gone_is_none(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "pyvenv.cfg").write_text("version_info = 3.12.1\n")
    (tmp_path / "bin" / "python").symlink_to(tmp_path / "gone")
    for module in (uv_venv, host_state):
        assert not module.venv_version(tmp_path)
    (tmp_path / "gone").write_text("")
    for module in (uv_venv, host_state):
        assert module.venv_version(tmp_path) == "3.12.1"
