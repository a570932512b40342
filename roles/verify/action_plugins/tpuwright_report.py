"""Action of tpuwright_report: runs on the controller, over the variables of all hosts of the play."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase

FACTS = ("__verify_about", "__verify_host", "__verify_started", "__verify_joined")


class ActionModule(ActionBase):  # type: ignore[misc]
    """Judges, writes, shows; fails with one sentence when a check failed."""

    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """The whole of it; the work is in tpuwright.report."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        from tpuwright.report.build import build, verdict
        from tpuwright.report.evidence import Limits
        from tpuwright.report.files import write
        from tpuwright.report.from_ansible import pods_of
        from tpuwright.report.table import table

        given = self._task.args
        variables = task_vars or {}
        hosts = {name: self._of_host(name, variables) for name in variables["ansible_play_hosts_all"]}
        checking = bool(variables.get("ansible_check_mode"))
        not_launched = "not launched in check mode" if checking else ""
        pods = pods_of(hosts, Limits.model_validate(given), not_launched, lambda pod: self._ask(given["stack"], pod))
        report = build(given["stack"], pods)
        self._display.display("\n" + table(report))
        if checking:
            # Hosts that are not configured yet lack what configuration would bring: that is no failure of a check run,
            # and the last real report stays.
            result.update(changed=False, status=report.status.value)
            return result
        data, people = write(report, Path(given["directory"]))
        self._display.display(f"Report: {people}")
        problem = verdict(report)
        result.update(changed=False, report=str(data), page=str(people), status=report.status.value)
        if problem:
            result.update(failed=True, msg=problem)
        return result

    def _of_host(self, name: str, variables: dict[str, Any]) -> dict[str, Any]:
        # Not dict(theirs): that would evaluate every variable of the host.
        theirs = variables["hostvars"][name]
        return {key: theirs[key] for key in FACTS if key in theirs}

    def _ask(self, stack: str, pod: Any) -> Any:
        from tpuwright.report.ask_node import ask_node

        return ask_node(stack, pod, Path(self._loader.get_basedir()))
