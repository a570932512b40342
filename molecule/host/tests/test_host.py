"""What a user finds on one configured host."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "shared"))
import reach

PACKAGES = ("golang", "neofetch", "zsh", "byobu", "mosh", "git")


@pytest.fixture(scope="module")
def host() -> Any:
    return reach.hosts()["pod-w0"]


@pytest.mark.parametrize("name", PACKAGES)
def test_the_package_is_installed(host: Any, name: str) -> None:
    assert host.package(name).is_installed


@pytest.mark.parametrize("name", ["ada", "grace"])
def test_every_user_has_zsh_sudo_and_a_start_file(host: Any, name: str) -> None:
    assert host.user(name).shell == "/usr/bin/zsh"
    assert host.check_output(f"sudo -u {name} sudo -n id -un") == "root"
    assert host.check_output(f"sudo -u {name} zsh -ic 'echo ok' </dev/null") == "ok"


def test_the_guest_agents_authorized_keys_are_as_they_were(host: Any) -> None:
    assert host.check_output("head -1 ~/.ssh/authorized_keys") == "# Added by Google"


def test_a_user_without_keys_in_the_settings_has_an_empty_key_file(host: Any) -> None:
    assert host.check_output("cat /etc/ssh/tpuwright/keys/grace") == ""
    assert "ssh-ed25519" in host.check_output("cat /etc/ssh/tpuwright/keys/ada")


def test_a_login_finds_jax_and_the_pods_variables(host: Any) -> None:
    code = "import jax, os; print(jax.__version__, os.environ['JAX_PLATFORMS'], jax.device_count())"
    assert host.check_output(f'zsh -lc "python -c \\"{code}\\""') == "0.10.2 cpu 4"


def test_a_command_over_ssh_finds_it_too_and_another_environment_stays(host: Any) -> None:
    assert host.check_output("command -v python") == "/home/ada/venv/bin/python"
    assert host.check_output("VIRTUAL_ENV=/srv/mine PATH=/srv/mine/bin:$PATH zsh -c 'echo $PATH'").startswith(
        "/srv/mine"
    )


def test_the_virtual_environment_belongs_to_its_user_and_is_new_enough(host: Any) -> None:
    script = "import sys; print(sys.version_info >= (3, 11), sys.prefix)"
    for name in ("ada", "grace"):
        assert host.check_output(f'sudo -u {name} -i python -c "{script}"') == f"True /home/{name}/venv"
    assert host.check_output("stat -c %U /home/grace/venv/bin/python") == "grace"


def test_the_system_trusts_what_the_controller_trusts(host: Any) -> None:
    assert host.run("curl --silent --show-error --fail --head https://pypi.org/simple/").rc == 0


def test_programs_find_the_facts_of_the_pod(host: Any) -> None:
    facts = json.loads(host.check_output("cat /etc/tpuwright/pod.json"))
    assert (facts["pod"], facts["name"], facts["worker"], facts["platform"]) == ("pod", "pod-w0", 0, "cpu")
    assert (facts["chips_per_host"], facts["devices"], len(facts["members"])) == (4, 4, 1)


def test_podrun_works_on_a_pod_of_one_host(host: Any) -> None:
    assert host.check_output("podrun -- python -c 'print(6 * 7)'") == "w0: 42"


def test_hugepages_are_left_alone_where_the_kernel_is_the_machines(host: Any) -> None:
    assert not host.file("/etc/tmpfiles.d/tpuwright-hugepages.conf").exists
