"""What a person can do with a rehearsal that was kept."""

from __future__ import annotations

from rich.console import Console


def explain_kept(console: Console, stack: str) -> None:
    """Print how to work with the pod that is up, and how to end it; commands are to be pasted as they are."""
    state = f".tpuwright/{stack}"
    console.print(
        f"""
[bold]The pod is up.[/] In this directory:

  [bold]eval "$(tpuwright env {stack})"[/]            [dim]# once: after it, every command works as typed[/]
  ssh -F {state}/ssh_config pod-w0               [dim]# or `tpuwright config-ssh`, then `ssh pod-w0`[/]
  ssh -F {state}/ssh_config pod-w0 podrun -- hostname
  tpuwright report --open                           [dim]# or open {state}/report.html[/]
  pulumi preview
  ansible-playbook site.yml -i inventories/pod
  pulumi destroy                                    [dim]# and then: tpuwright emulator stop[/]
""",
        soft_wrap=True,
    )
