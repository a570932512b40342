"""A killed command's lock and pending operations: what is released, imported, cleared, and what is refused."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tpuwright.recovery.identity import identity
from tpuwright.recovery.locks import locks_of
from tpuwright.recovery.pending import NotOurs, Verdict
from tpuwright.recovery.recover import CannotRecover, Recovery, recover

DEFAULTS = {"project": "p", "region": "us-west4", "zone": "us-west4-a"}
NODE = {
    "urn": "urn:pulumi:rehearsal::tpuwright::tpuwright:Pod$gcp:tpu/v2Vm:V2Vm::pod",
    "type": "gcp:tpu/v2Vm:V2Vm",
    "inputs": {"name": "pod", "zone": "us-west4-a"},
}
STACK_RESOURCE = {"urn": "urn:pulumi:rehearsal::tpuwright::pulumi:pulumi:Stack::tpuwright-rehearsal"}
NODE_PATH = "projects/p/locations/us-west4-a/nodes/pod"


def dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def write_lock(backend: Path, pid: int, host: str | None = None, since: datetime | None = None) -> Path:
    file = backend / ".pulumi/locks/organization/tpuwright/rehearsal/1.json"
    file.parent.mkdir(parents=True)
    since = since or datetime.now(UTC)
    said = {
        "pid": pid,
        "username": "me",
        "hostname": host or socket.gethostname(),
        "timestamp": since.isoformat(),
    }
    file.write_text(json.dumps(said))
    return file


class Engine:
    """Stands where `pulumi` is called: keeps the calls, answers `stack export`, removes the lock on `cancel`."""

    def __init__(self, lock: Path | None, pending: Sequence[dict[str, Any]] = ()) -> None:
        self.lock, self.pending, self.calls = lock, pending, list[list[str]]()
        self.imported: dict[str, Any] = {}

    def __call__(self, arguments: Sequence[str], stdin: str = "") -> str:
        self.calls.append(list(arguments))
        if arguments[:2] == ["stack", "import"]:
            self.imported = json.loads(stdin)["deployment"]
        if arguments[0] == "cancel" and self.lock:
            self.lock.unlink()
        return json.dumps(
            {"version": 3, "deployment": {"resources": [STACK_RESOURCE], "pending_operations": list(self.pending)}}
        )

    def called(self, verb: str) -> list[str] | None:
        return next((call for call in self.calls if call[0] == verb), None)


def run(backend: Path, engine: Engine, cloud: dict[str, dict[str, Any]] | None = None) -> Recovery:
    return recover(
        backend_url=f"file://{backend}",
        project="tpuwright",
        stack="rehearsal",
        defaults=DEFAULTS,
        pulumi=engine,
        fetch=lambda _service, path: (cloud or {}).get(path),
        say=lambda _line: None,
    )


def test_a_dead_owners_lock_is_released(tmp_path: Path) -> None:
    engine = Engine(write_lock(tmp_path, dead_pid()))
    done = run(tmp_path, engine)
    assert engine.called("cancel") == ["cancel", "--yes", "--stack", "rehearsal"]
    assert len(done.released) == 1
    assert not list(locks_of(f"file://{tmp_path}", "tpuwright", "rehearsal"))


def test_a_living_owners_lock_is_left_and_the_owner_is_named(tmp_path: Path) -> None:
    engine = Engine(write_lock(tmp_path, os.getpid()))
    with pytest.raises(CannotRecover, match=f"process {os.getpid()} .*still runs"):
        run(tmp_path, engine)
    assert engine.calls == []


def test_a_process_that_was_born_after_the_lock_is_not_its_owner(tmp_path: Path) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=30)
    done = run(tmp_path, Engine(write_lock(tmp_path, os.getpid(), since=long_ago)))
    assert len(done.released) == 1


def test_a_lock_made_on_another_machine_is_left(tmp_path: Path) -> None:
    engine = Engine(write_lock(tmp_path, dead_pid(), host="elsewhere"))
    with pytest.raises(CannotRecover, match=r"elsewhere.*pulumi cancel"):
        run(tmp_path, engine)
    assert engine.calls == []


def test_a_create_that_reached_the_cloud_is_imported(tmp_path: Path) -> None:
    engine = Engine(None, [{"type": "creating", "resource": NODE}])
    done = run(tmp_path, engine, {NODE_PATH: {"state": "READY", "labels": {"tpuwright-stack": "rehearsal"}}})
    assert done.settled == {NODE["urn"]: Verdict.IMPORT}
    assert engine.imported == {"resources": [STACK_RESOURCE, {**NODE, "id": NODE_PATH}]}
    assert engine.called("refresh") is not None


def test_a_create_that_never_reached_the_cloud_is_cleared(tmp_path: Path) -> None:
    engine = Engine(None, [{"type": "creating", "resource": NODE}])
    assert run(tmp_path, engine).settled == {NODE["urn"]: Verdict.CLEAR}
    assert engine.imported == {"resources": [STACK_RESOURCE]}
    assert engine.called("refresh") is not None


def test_what_another_stack_made_is_never_taken_over(tmp_path: Path) -> None:
    engine = Engine(None, [{"type": "creating", "resource": NODE}])
    with pytest.raises(NotOurs, match="stack 'other'"):
        run(tmp_path, engine, {NODE_PATH: {"state": "READY", "labels": {"tpuwright-stack": "other"}}})
    assert engine.called("refresh") is None


def test_an_update_or_delete_in_flight_is_read_again(tmp_path: Path) -> None:
    engine = Engine(None, [{"type": "deleting", "resource": NODE}])
    assert run(tmp_path, engine).settled == {NODE["urn"]: Verdict.REFRESH}
    assert engine.called("refresh") is not None


def test_with_nothing_locked_or_pending_nothing_is_done(tmp_path: Path) -> None:
    engine = Engine(None)
    assert not run(tmp_path, engine).anything
    assert [call[:2] for call in engine.calls] == [["stack", "export"]]


def test_a_routers_nat_is_looked_for_inside_its_router(tmp_path: Path) -> None:
    resource = {
        "urn": "urn:pulumi:rehearsal::tpuwright::gcp:compute/routerNat:RouterNat::nat",
        "type": "gcp:compute/routerNat:RouterNat",
        "inputs": {"name": "nat", "router": "projects/p/regions/us-west4/routers/rt", "region": "us-west4"},
    }
    router = "projects/p/regions/us-west4/routers/rt"
    without = Engine(None, [{"type": "creating", "resource": resource}])
    assert run(tmp_path, without, {router: {"name": "rt"}}).settled[resource["urn"]] is Verdict.CLEAR
    having = Engine(None, [{"type": "creating", "resource": resource}])
    assert run(tmp_path, having, {router: {"nats": [{"name": "nat"}]}}).settled[resource["urn"]] is Verdict.IMPORT
    assert having.imported["resources"][-1]["id"] == "p/us-west4/rt/nat"


@pytest.mark.parametrize(
    ("resource_type", "inputs", "expected"),
    [
        ("gcp:compute/network:Network", {"name": "n"}, "projects/p/global/networks/n"),
        ("gcp:compute/subnetwork:Subnetwork", {"name": "s"}, "projects/p/regions/us-west4/subnetworks/s"),
        (
            "gcp:compute/subnetwork:Subnetwork",
            {"name": "s", "region": "projects/p/regions/europe-west4"},
            "projects/p/regions/europe-west4/subnetworks/s",
        ),
        ("gcp:compute/instance:Instance", {"name": "b", "zone": "z"}, "projects/p/zones/z/instances/b"),
        (
            "gcp:serviceaccount/account:Account",
            {"accountId": "a"},
            "projects/p/serviceAccounts/a@p.iam.gserviceaccount.com",
        ),
    ],
)
def test_identities_follow_the_providers_import_formats(
    resource_type: str, inputs: dict[str, Any], expected: str
) -> None:
    found = identity(resource_type, inputs, DEFAULTS)
    assert found is not None
    assert found.import_id == expected


def test_a_type_that_is_made_again_without_harm_has_no_identity() -> None:
    assert identity("gcp:projects/iAMMember:IAMMember", {"role": "r", "member": "m"}, DEFAULTS) is None
