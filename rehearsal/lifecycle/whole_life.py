"""The rehearsal itself: from nothing to a verified pod, the same again without a change, and back to nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from rehearsal.lifecycle.leftovers import left_in_cloud
from rehearsal.lifecycle.rehearsal_stack import STACK
from rehearsal.lifecycle.steps import StepFailed, Steps

_RECAP = re.compile(r"^(\S+)\s+: ok=\d+\s+changed=(\d+)\s+unreachable=(\d+)\s+failed=(\d+)", re.MULTILINE)

UP = ["pulumi", "up", "--yes", "--skip-preview", "--non-interactive", "--suppress-outputs"]
DESTROY = ["pulumi", "destroy", "--yes", "--skip-preview", "--non-interactive"]
SITE = ["ansible-playbook", "site.yml", "-i", "inventories/pod"]


@dataclass(frozen=True)
class Cloud:
    """The embedded cloud that a rehearsal runs in."""

    endpoint: str
    token: str
    project: str


def create_and_verify(steps: Steps) -> None:
    """`pulumi up`, `site.yml`, and a look at the report that the verification wrote."""
    with steps.step("Create the pod"):
        steps.run(UP)
    with steps.step("Configure and verify it"):
        report = report_file(steps.directory)
        report.unlink(missing_ok=True)
        steps.run(SITE)
        steps.console.print(f"  {check_report(report)}")


def repeat_without_change(steps: Steps) -> None:
    """The same two commands again: a change now is a fault of ours."""
    with steps.step("Create again: nothing may change"):
        steps.run([*UP, "--expect-no-changes"])
    with steps.step("Configure again: nothing may change"):
        changed_hosts(steps.run(SITE))


def destroy_and_look(steps: Steps, cloud: Cloud) -> None:
    """`pulumi destroy`, then what the API and Docker still have: it must be nothing."""
    with steps.step("Destroy"):
        steps.run(DESTROY)
    with steps.step("Look for what is left"):
        left = left_in_cloud(cloud.endpoint, cloud.token, cloud.project)
        left += left_in_docker()
        if left:
            raise StepFailed(f"`pulumi destroy` left {len(left)} behind: {', '.join(left)}.")
        steps.console.print(
            "  nothing: no resource in the cloud's API, no container and no network in Docker"
        )


def changed_hosts(output: str) -> None:
    """Raise StepFailed where the recap of an Ansible run shows a change, or shows no host at all."""
    recap = _RECAP.findall(output)
    if not recap:
        raise StepFailed("The second run of site.yml reached no host, so it proves nothing.")
    if changed := [f"{host} ({count})" for host, count, *_ in recap if count != "0"]:
        raise StepFailed(f"The second run of site.yml changed {', '.join(changed)}, and must change nothing.")


def report_file(project_directory: Path) -> Path:
    return project_directory / ".tpuwright" / STACK / "report.json"
