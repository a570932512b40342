"""The stack, read by the real engine; the inventory, read by the real ansible-inventory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from api_server import Api
from example_stack import NODE_URN, key_of, make_stack, outputs

from tpuwright.pulumi_engine import find_engine
from tpuwright.stack import StackError, open_stack, selected_stack

REPOSITORY = Path(__file__).resolve().parents[3]

pytestmark = [
    pytest.mark.pulumi,
    pytest.mark.skipif(find_engine() is None, reason="the Pulumi engine is not installed: make setup"),
]


@pytest.fixture
def api() -> Iterator[Api]:
    with Api().running() as running:
        yield running


def use(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


def test_the_exports_and_the_urn_of_the_node_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, make_stack(tmp_path, outputs()))
    stack = open_stack(start=tmp_path)
    assert [host.name for host in stack.outputs.pods["pod"].hosts] == ["pod-w0", "pod-w1"]
    assert stack.urn_of_node("pod") == NODE_URN
    assert stack.state_directory == tmp_path / ".tpuwright" / "dev"


def test_a_stack_without_pods_says_pulumi_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, make_stack(tmp_path, None))
    with pytest.raises(StackError, match="run `pulumi up`"):
        _ = open_stack(start=tmp_path).outputs


def test_a_stack_that_does_not_exist_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, make_stack(tmp_path, None))
    with pytest.raises(StackError, match="Stack nope does not exist"):
        _ = open_stack("nope", tmp_path).outputs


def test_no_selected_stack_is_said_with_the_command_that_selects_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, make_stack(tmp_path, None))
    monkeypatch.delenv("PULUMI_STACK")
    with pytest.raises(StackError, match="pulumi stack select"):
        selected_stack(tmp_path)


def test_a_backend_that_nobody_logged_in_to_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, make_stack(tmp_path, None))
    monkeypatch.delenv("PULUMI_BACKEND_URL")
    monkeypatch.delenv("PULUMI_ACCESS_TOKEN", raising=False)
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "home"))
    with pytest.raises(StackError, match="pulumi login"):
        _ = open_stack(start=tmp_path).outputs


def ansible_inventory(project: Path, variables: dict[str, str], wait: float = 0) -> subprocess.CompletedProcess[str]:
    source = project / "inventories" / "pod"
    source.mkdir(parents=True, exist_ok=True)
    (source / "tpuwright.yml").write_text(f"plugin: tpuwright\nwait_seconds: {wait}\n")
    environment = {**os.environ, **variables, "ANSIBLE_CONFIG": str(REPOSITORY / "ansible.cfg")}
    command = [str(Path(sys.prefix) / "bin" / "ansible-inventory"), "-i", str(source), "--list"]
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=120)


def plain(value: object) -> object:
    """What ansible-inventory marks as untrusted, without the mark."""
    if isinstance(value, dict):
        return (
            value["__ansible_unsafe"] if set(value) == {"__ansible_unsafe"} else {k: plain(v) for k, v in value.items()}
        )
    return [plain(each) for each in value] if isinstance(value, list) else value


def test_ansible_sees_groups_hosts_and_variables(tmp_path: Path, api: Api) -> None:
    variables = make_stack(tmp_path, outputs(api.endpoint))
    done = ansible_inventory(tmp_path, variables)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["tpu_hosts"]["hosts"] == ["pod-w0", "pod-w1"]
    assert found["pod_pod"]["hosts"] == ["pod-w0", "pod-w1"]
    assert found["worker_1"]["hosts"] == ["pod-w1"]
    host = plain(found["_meta"]["hostvars"]["pod-w1"])
    assert isinstance(host, dict)
    assert host["ansible_host"] == "10.9.0.3"
    assert host["ansible_user"] == "nixie"
    assert host["tpuwright_worker"] == 1
    assert host["tpuwright_node_state"] == "READY"
    assert host["tpuwright_users"] == [{"name": "nixie", "keys": ["ssh-ed25519 AAAA nixie"]}]
    assert [member["internal_ip"] for member in host["tpuwright_members"]] == ["10.9.0.2", "10.9.0.3"]


def test_the_inventory_writes_private_ssh_files_with_the_published_keys(tmp_path: Path, api: Api) -> None:
    assert ansible_inventory(tmp_path, make_stack(tmp_path, outputs(api.endpoint))).returncode == 0
    state = tmp_path / ".tpuwright" / "dev"
    assert state.stat().st_mode & 0o777 == 0o700
    assert {path.name: path.stat().st_mode & 0o777 for path in state.iterdir()} == {
        "ssh_config": 0o600,
        "known_hosts": 0o600,
    }
    known = (state / "known_hosts").read_text()
    assert f"tpuwright-dev-pod-w1 ssh-ed25519 {key_of('pod-w1')}\n" in known
    assert "evil" not in known


@pytest.mark.parametrize(
    ("state", "words"), [("PREEMPTED", "Pod pod is PREEMPTED"), ("REPAIRING", "Pod pod is REPAIRING")]
)
def test_a_pod_that_is_not_ready_is_one_sentence_and_no_traceback(
    tmp_path: Path, api: Api, state: str, words: str
) -> None:
    api.states = [state]
    done = ansible_inventory(tmp_path, make_stack(tmp_path, outputs(api.endpoint)))
    assert done.returncode != 0
    assert words in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_an_empty_stack_is_one_sentence_and_no_traceback(tmp_path: Path) -> None:
    done = ansible_inventory(tmp_path, make_stack(tmp_path, None))
    assert done.returncode != 0
    assert "run `pulumi up`" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
