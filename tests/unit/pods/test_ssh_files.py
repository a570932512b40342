"""ssh_config and known_hosts, as the real ssh reads them, and the user's own ~/.ssh/config."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from example_stack import key_of, outputs

from tpuwright.cloud.hostkeys import HostKey
from tpuwright.errors import TpuwrightError
from tpuwright.live import HostNow, PodNow, StackNow
from tpuwright.outputs import StackOutputs
from tpuwright.ssh.plan import Plan, build
from tpuwright.ssh.render import known_hosts, ssh_config
from tpuwright.ssh.user_config import UserConfig


def plan_for(project: Path, stack: str = "dev", *, silent: str = "", bastion: bool = True, **options: object) -> Plan:
    exports = StackOutputs.model_validate(outputs(bastion=bastion))

    def keys(name: str) -> tuple[HostKey, ...]:
        return () if name == silent else (HostKey("ssh-ed25519", key_of(name)),)

    pod = exports.pods["pod"]
    outside = None if bastion else "203.0.113.{}"
    hosts = tuple(
        HostNow(host.name, host.worker, host.internal_ip, outside and outside.format(host.worker), keys(host.name))
        for host in pod.hosts
    )
    now = StackNow({"pod": PodNow(pod, "READY", hosts)}, keys("bastion") if bastion else ())
    return build(stack, exports, now, project, **options)  # type: ignore[arg-type]


def as_ssh_reads(config: Path, host: str) -> dict[str, str]:
    done = subprocess.run(["ssh", "-G", "-F", str(config), host], capture_output=True, text=True, check=True)
    return dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)


def written(tmp_path: Path, plan: Plan) -> Path:
    config, known = tmp_path / "ssh_config", tmp_path / "known_hosts"
    known.write_text(known_hosts(plan))
    config.write_text(ssh_config(plan, known, match_addresses=True, share=False))
    return config


@pytest.mark.parametrize("name", ["pod-w1", "10.9.0.3"])
def test_a_host_is_found_by_name_and_by_address_and_its_key_is_checked(tmp_path: Path, name: str) -> None:
    found = as_ssh_reads(written(tmp_path, plan_for(tmp_path)), name)
    assert found["hostname"] == "10.9.0.3"
    assert found["user"] == "nixie"
    assert found["proxyjump"] == "dev-bastion"
    assert found["stricthostkeychecking"] == "true"
    assert found["hostkeyalias"] == "tpuwright-dev-pod-w1"
    assert found["userknownhostsfile"] == str(tmp_path / "known_hosts")
    assert found["kexalgorithms"].startswith("curve25519-sha256")


def test_the_bastion_is_reached_through_iap_by_one_shared_connection(tmp_path: Path) -> None:
    found = as_ssh_reads(written(tmp_path, plan_for(tmp_path)), "dev-bastion")
    assert "-m tpuwright.iap dev-bastion %p --project my-project --zone us-west4-a" in found["proxycommand"]
    assert found["controlmaster"] == "auto"
    assert "proxyjump" not in found


def test_direct_access_goes_to_the_external_address(tmp_path: Path) -> None:
    found = as_ssh_reads(written(tmp_path, plan_for(tmp_path, bastion=False)), "pod-w1")
    assert found["hostname"] == "203.0.113.1"
    assert "proxyjump" not in found


def test_known_hosts_is_what_ssh_keygen_finds_keys_in(tmp_path: Path) -> None:
    written(tmp_path, plan_for(tmp_path))
    command = ["ssh-keygen", "-F", "tpuwright-dev-pod-w0", "-f", str(tmp_path / "known_hosts")]
    assert key_of("pod-w0") in subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_host_without_a_published_key_is_left_out_and_named(tmp_path: Path) -> None:
    plan = plan_for(tmp_path, silent="pod-w1")
    assert plan.left_out == ("pod-w1",)
    assert "pod-w1" not in ssh_config(plan, tmp_path / "known", match_addresses=True, share=False)


def test_the_private_key_is_named_only_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "id.pub").write_text("ssh-ed25519 AAAA nixie")
    assert plan_for(tmp_path).identities == ()
    (tmp_path / "id").write_text("private")
    assert plan_for(tmp_path).identities == (tmp_path / "id",)


def test_ports_are_forwarded_to_worker_0_only(tmp_path: Path) -> None:
    config = written(tmp_path, plan_for(tmp_path, forwards=[8888]))
    assert as_ssh_reads(config, "pod-w0")["localforward"] == "[127.0.0.1]:8888 [127.0.0.1]:8888"
    assert "localforward" not in as_ssh_reads(config, "pod-w1")


def test_a_new_host_key_means_a_new_socket_so_that_no_old_connection_is_shared(tmp_path: Path) -> None:
    plan = plan_for(tmp_path)
    again = plan_for(tmp_path)
    assert plan.targets[1].keys_digest == again.targets[1].keys_digest
    assert plan.targets[1].keys_digest != plan.targets[2].keys_digest


def test_a_user_that_the_stack_does_not_have_is_refused_with_those_it_has(tmp_path: Path) -> None:
    with pytest.raises(TpuwrightError, match=r"no user 'root' \(it has nixie\)"):
        plan_for(tmp_path, user="root")


def test_the_users_own_configuration_keeps_its_content_and_its_mode(tmp_path: Path) -> None:
    config = UserConfig(tmp_path / "ssh")
    config.directory.mkdir()
    config.main.write_text("Host mine\n    User me\n")
    config.main.chmod(0o640)
    assert config.write(plan_for(tmp_path)) is True
    assert config.main.read_text().endswith("\n\nHost mine\n    User me\n")
    assert config.main.read_text().count("Include") == 1
    assert config.main.stat().st_mode & 0o777 == 0o640
    assert as_ssh_reads(config.main, "mine")["user"] == "me"
    assert as_ssh_reads(config.main, "pod-w0")["hostname"] == "10.9.0.2"


def test_writing_again_changes_nothing(tmp_path: Path) -> None:
    config = UserConfig(tmp_path / "ssh")
    config.write(plan_for(tmp_path))
    before = config.main.read_text()
    assert config.write(plan_for(tmp_path)) is False
    assert config.main.read_text() == before


def test_removing_leaves_the_configuration_as_it_was(tmp_path: Path) -> None:
    config = UserConfig(tmp_path / "ssh")
    config.directory.mkdir()
    config.main.write_text("Host mine\n    User me\n")
    config.write(plan_for(tmp_path))
    assert config.remove("dev") is True
    assert config.main.read_text() == "Host mine\n    User me\n"
    assert config.remove("dev") is False


def test_a_link_to_dotfiles_stays_a_link(tmp_path: Path) -> None:
    config = UserConfig(tmp_path / "ssh")
    config.directory.mkdir()
    dotfile = tmp_path / "dotfile"
    dotfile.write_text("Host mine\n")
    config.main.symlink_to(dotfile)
    config.write(plan_for(tmp_path))
    assert config.main.is_symlink()
    assert "Include" in dotfile.read_text()


def test_two_stacks_with_the_same_host_names_are_refused(tmp_path: Path) -> None:
    config = UserConfig(tmp_path / "ssh")
    config.write(plan_for(tmp_path, "dev"))
    with pytest.raises(TpuwrightError, match=r"pod-w0, pod-w1 belong to stack dev.*config-ssh dev --remove"):
        config.write(plan_for(tmp_path, "other"))
