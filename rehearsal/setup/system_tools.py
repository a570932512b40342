"""Programs of the distribution that a rehearsal calls: an ssh client, and debootstrap for the host image."""

from __future__ import annotations

import shutil

from rehearsal.setup import apt
from rehearsal.setup.step import Step, Work


class SshClient(Step):
    """ssh and ssh-keygen: Ansible comes to the hosts through them."""

    key = "ssh"
    title = "OpenSSH client"
    why = "Ansible and you reach the hosts with it"

    def look(self) -> str | None:
        ssh = shutil.which("ssh")
        return ssh if ssh and shutil.which("ssh-keygen") else None

    def provide(self, work: Work) -> str:
        apt.install(["openssh-client"], work, needed_for=self.title)
        return "installed"

    def needs_root(self) -> bool:
        return True
