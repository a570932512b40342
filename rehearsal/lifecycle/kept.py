"""What a person can do with a rehearsal that was kept."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from rehearsal.lifecycle.rehearsal_stack import STACK


def explain_kept(console: Console, project: Path) -> None:
    """Print how to work with the pod that is up, and how to end it; commands are to be pasted as they are."""
    state = (project / ".tpuwright" / STACK).relative_to(project)
    console.print(
        f"""
[bold]The pod is up.[/] In this directory:

  [bold]eval "$(tpuwright env {STACK})"[/]            [dim]# once: after it, every command works as typed[/]
  ssh -F {state}/ssh_config pod-w0               [dim]# or `tpuwright config-ssh`, then `ssh pod-w0`[/]
  ssh -F {state}/ssh_config pod-w0 podrun -- hostname
  tpuwright report --open                           [dim]# or open {state}/report.html[/]
  pulumi preview
  ansible-playbook site.yml -i inventories/pod
  pulumi destroy                                    [dim]# and then: tpuwright emulator stop[/]
""",
        soft_wrap=True,
    )
