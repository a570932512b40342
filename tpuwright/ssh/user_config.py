"""The user's ~/.ssh/config includes our entries by one line at its top; nothing else in it is touched."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tpuwright.errors import TpuwrightError
from tpuwright.ssh.plan import Plan
from tpuwright.ssh.private_file import write_private
from tpuwright.ssh.render import known_hosts, ssh_config

_MARK: Final = "# tpuwright: entries of its stacks"
_HOST: Final = re.compile(r"^\s*Host\s+(.*)$", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True)
class UserConfig:
    """The files of one user's ssh directory that belong to us, or include us."""

    directory: Path

    @property
    def main(self) -> Path:
        """~/.ssh/config."""
        return self.directory / "config"

    @property
    def include(self) -> str:
        """The line; ssh takes a relative path for one in ~/.ssh."""
        usual = self.directory.resolve() == (Path.home() / ".ssh").resolve()
        return f"Include {'' if usual else f'{self.directory}/'}tpuwright/*.conf"

    def entries(self, stack: str) -> Path:
        """The stack's entries."""
        return self.directory / "tpuwright" / f"{stack}.conf"

    def known(self, stack: str) -> Path:
        """The stack's host keys."""
        return self.directory / "tpuwright" / f"{stack}.known_hosts"

    def write(self, plan: Plan) -> bool:
        """Write the stack's entries and keys, and include them; False when all was as wanted.

        Raises ``TpuwrightError`` when another stack has a host of the same name: ssh would take the first of them.
        """
        self._refuse_taken_names(plan)
        stack = plan.stack.rpartition("/")[2]
        keys = write_private(self.known(stack), known_hosts(plan))
        text = ssh_config(plan, self.known(stack), match_addresses=False, share=True)
        entries = write_private(self.entries(stack), text)
        return self._include() or keys or entries

    def remove(self, stack: str) -> bool:
        """Take the stack's entries away, and the Include line with the last of them; False when there was nothing."""
        files = [path for path in (self.entries(stack), self.known(stack)) if path.exists()]
        for path in files:
            path.unlink()
        if not any(self.entries(stack).parent.glob("*.conf")):
            self._exclude()
        return bool(files)

    def _include(self) -> bool:
        old = self._text()
        if re.search(rf"^{re.escape(self.include)}$", old, re.MULTILINE):
            return False
        return self._replace(f"{_MARK}\n{self.include}\n\n{old}" if old else f"{_MARK}\n{self.include}\n")

    def _exclude(self) -> None:
        old = self._text()
        new = re.sub(rf"^({re.escape(_MARK)}\n)?{re.escape(self.include)}\n\n?", "", old, flags=re.MULTILINE)
        if new != old:
            self._replace(new)

    def _text(self) -> str:
        return self.main.read_text(encoding="utf-8") if self.main.exists() else ""

    def _replace(self, text: str) -> bool:
        # A symbolic link (dotfiles kept elsewhere) stays one; a file keeps its mode.
        target = self.main.resolve()
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
        return write_private(target, text, mode)

    def _refuse_taken_names(self, plan: Plan) -> None:
        own = self.entries(plan.stack.rpartition("/")[2])
        wanted = {alias for target in plan.targets for alias in target.aliases}
        for path in sorted(own.parent.glob("*.conf")):
            if path == own:
                continue
            taken = {name for line in _HOST.findall(path.read_text(encoding="utf-8")) for name in line.split()}
            if clash := sorted(wanted & taken):
                raise TpuwrightError(
                    f"The names {', '.join(clash)} belong to stack {path.stem} in {path}: remove those with "
                    f"`tpuwright config-ssh {path.stem} --remove`, or give one of the pods another name."
                )
