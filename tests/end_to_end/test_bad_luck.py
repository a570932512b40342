"""One pod of two hosts through everything that can happen to it; the tests of this module run in their order.

Each begins with the pod that the one before left, as a user's day would.
"""

from __future__ import annotations

import re
import subprocess

import pytest

from rehearsal.paths import REPOSITORY

from .conftest import Life

pytestmark = [pytest.mark.lifecycle, pytest.mark.docker, pytest.mark.pulumi, pytest.mark.timeout(900)]


def fail_host(life: Life, worker: int) -> None:
    life.tell_emulator("POST", f"nodes/{life.node()['name']}:fail-host?worker={worker}")


def test_an_up_that_was_killed_is_recovered_and_converges(life: Life) -> None:
    life.begin("v4-16")  # two hosts: the fewest that make a pod
    life.tell_emulator("PATCH", "settings", {"timings": {"node_create": 15}})
    life.kill_when(
        ["pulumi", "up", "--yes", "--skip-preview", "--non-interactive"],
        lambda _said: life.node().get("state") == "CREATING",
    )
    assert "locked" in life.up(ok=False)
    said = life.recover()
    assert "Released the lock" in said
    assert re.search(r"pod.* was creating .* exists in the cloud", said)
    life.tell_emulator("PATCH", "settings", {"timings": {"node_create": 0.5}})
    life.up()
    assert "nothing is locked" in life.recover()


def test_a_site_that_was_killed_converges_when_run_again(life: Life) -> None:
    life.kill_when(["ansible-playbook", "site.yml", "-i", "inventories/pod"], lambda said: "TASK [jax" in said)
    life.site()
    assert life.verified


def test_a_dead_host_that_nobody_repairs_is_named_and_the_slice_replaced(life: Life) -> None:
    life.tell_emulator("PATCH", "settings", {"faults": {"repair": "never"}})
    fail_host(life, 1)
    said = life.site(ok=False)
    assert "pod-w1" in said
    replace = re.search(r"pulumi up --replace '?(urn:[^\s'`]+)", said)
    assert replace, said[-3000:]
    assert not life.verified
    life.run(["pulumi", "up", "--yes", "--skip-preview", "--non-interactive", "--replace", replace[1]])
    assert "REMOTE HOST IDENTIFICATION" not in life.site()
    assert life.verified


def test_a_dead_host_that_the_cloud_repairs_is_waited_for(life: Life) -> None:
    life.tell_emulator("PATCH", "settings", {"faults": {"repair": "auto"}, "timings": {"repair": 1}})
    fail_host(life, 1)
    life.run(["tpuwright", "wait"])
    life.site()
    assert life.verified
    assert life.node()["state"] == "READY"


def test_an_emulator_that_is_killed_and_restarted_goes_on_with_its_pod(life: Life) -> None:
    pid = life.tell_emulator("GET", "status")["pid"]
    subprocess.run(["kill", "-9", str(pid)], check=True)
    subprocess.run(["tpuwright", "emulator", "start"], cwd=REPOSITORY, check=True)
    life.run(["pulumi", "up", "--yes", "--skip-preview", "--non-interactive", "--expect-no-changes"])


def test_a_preempted_spot_pod_is_replaced_by_up_and_configured_without_a_host_key_complaint(life: Life) -> None:
    life.run(["pulumi", "config", "set", "--path", "tpuwright:pods[0].provisioning_model", "spot"])
    life.up()
    life.site()
    life.tell_emulator("POST", f"nodes/{life.node()['name']}:preempt")
    assert life.node()["state"] == "PREEMPTED"
    refused = life.site(ok=False)
    assert "PREEMPTED" in refused
    assert "pulumi up" in refused
    assert "Traceback" not in refused
    life.up()
    assert life.node()["state"] == "READY"
    said = life.site()
    assert "HOST IDENTIFICATION HAS CHANGED" not in said
    assert life.verified
    life.run(["pulumi", "up", "--yes", "--skip-preview", "--non-interactive", "--expect-no-changes"])


def test_a_destroy_that_was_killed_is_recovered_and_leaves_nothing(life: Life) -> None:
    life.tell_emulator("PATCH", "settings", {"timings": {"node_delete": 15}})
    life.kill_when(
        ["pulumi", "destroy", "--yes", "--skip-preview", "--non-interactive"],
        lambda _said: life.node().get("state") == "DELETING",
    )
    life.tell_emulator("PATCH", "settings", {"timings": {"node_delete": 0.2}})
    assert "Released the lock" in life.recover()
    life.destroy()
    assert life.left() == []
