"""Ansible module: a virtual environment with exactly described packages, made by uv."""

from __future__ import annotations

import os
import pwd
import re
import subprocess
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: uv_venv
short_description: A virtual environment with packages, made by uv
description:
  - Makes I(path) with an interpreter of at least I(minimum) (the system's, if it is new enough, else one that uv
    manages), and brings I(packages) in, all as its owner.
  - In check mode it reports what uv would do, also where the environment is not there yet.
options:
  path: {type: str, required: true, description: "Absolute, or below the owner's home directory."}
  owner: {type: str, default: root}
  minimum: {type: str, default: "3.11", description: "Lowest Python version."}
  version: {type: str, default: "", description: "Exact Python version, instead of any from I(minimum) on."}
  packages: {type: list, elements: str, default: [], description: "Requirements, as pip takes them."}
  uv: {type: path, default: /usr/local/bin/uv}
attributes: {check_mode: {support: full}}
"""


def request_for(minimum: str, version: str) -> str:
    """What to ask uv for: an exact version, or any from `minimum` on."""
    return version or f">={minimum}"


def satisfies(found: str, minimum: str, version: str) -> bool:
    """Whether interpreter version `found` (3.11.7) is the exact `version` asked for, or at least `minimum`."""
    have = _numbers(found)
    if version:
        asked = _numbers(version)
        return have[: len(asked)] == asked
    return have >= _numbers(minimum)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def venv_version(path: Path) -> str | None:
    """The Python version of a virtual environment, from its pyvenv.cfg; None when it is not a working one."""
    if not (path / "bin" / "python").exists():  # also false when the interpreter it links to has gone
        return None
    settings = dict(re.findall(r"^\s*(\S+)\s*=\s*(.*?)\s*$", (path / "pyvenv.cfg").read_text(), re.MULTILINE))
    return settings.get("version_info") or settings.get("version")


def refusal(version: str, request: str, output: str) -> str:
    """One sentence for a uv that found no interpreter and could not get one."""
    detail = (output.strip().splitlines() or ["uv gave no reason"])[-1].strip()
    asked = f"Python {version}" if version else f"a Python {request.replace('>=', 'of at least ')}"
    return (
        f"This host has no {asked.removeprefix('a ')}, and uv could not fetch one ({detail}). uv's own Pythons come "
        "from GitHub: let the host reach it, name a mirror in python_install_mirror, or install a newer Python first."
    )


class Environment:
    """A virtual environment at `path`, as uv sees it; everything is done as its owner."""

    def __init__(self, module: AnsibleModule, owner: pwd.struct_passwd) -> None:
        self.module = module
        self.path = Path(module.params["path"])
        self.uv = module.params["uv"]
        self.owner = owner

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            user=self.owner.pw_uid,
            group=self.owner.pw_gid,
            extra_groups=[],
            cwd="/",
            env={**os.environ, "HOME": self.owner.pw_dir, "USER": self.owner.pw_name},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def make(self, request: str) -> None:
        if self.path.exists():
            ours = any((self.path / mark).exists() for mark in ("pyvenv.cfg", "CACHEDIR.TAG"))  # the latter: cut short
            if not ours and any(self.path.iterdir()):
                self.module.fail_json(
                    msg=f"{self.path} is there and is not a virtual environment: it was not touched. Move it away."
                )
            self.run("rm", "-rf", "--", str(self.path))
        done = self.run(self.uv, "venv", "--quiet", "--seed", "--python", request, str(self.path))
        if done.returncode:
            self.module.fail_json(msg=refusal(self.module.params["version"], request, done.stderr or done.stdout))

    def would_change(self, packages: list[str]) -> bool:
        return "Would make no changes" not in self.install(packages, "--dry-run")

    def install(self, packages: list[str], *options: str) -> str:
        python = str(self.path / "bin" / "python")
        done = self.run(self.uv, "pip", "install", *options, "--python", python, "--", *packages)
        if done.returncode:
            self.module.fail_json(msg=f"uv could not install {' '.join(packages)}: {done.stderr.strip()}")
        return done.stdout + done.stderr


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "str", "required": True},
            "owner": {"type": "str", "default": "root"},
            "minimum": {"type": "str", "default": "3.11"},
            "version": {"type": "str", "default": ""},
            "packages": {"type": "list", "elements": "str", "default": []},
            "uv": {"type": "path", "default": "/usr/local/bin/uv"},
        },
        supports_check_mode=True,
    )
    minimum, version, packages = (module.params[name] for name in ("minimum", "version", "packages"))
    try:
        owner = pwd.getpwnam(module.params["owner"])
    except KeyError:
        if module.check_mode:  # the users role would have made him
            module.exit_json(changed=True, python=None)
        module.fail_json(msg=f"{module.params['owner']} is not a user of this host; add him to users_accounts.")
    module.params["path"] = str(Path(owner.pw_dir) / module.params["path"])
    environment = Environment(module, owner)
    found = venv_version(environment.path)
    anew = found is None or not satisfies(found, minimum, version)
    if module.check_mode:
        stale = anew or (bool(packages) and environment.would_change(packages))
        module.exit_json(changed=stale, python=found)
    if anew:
        environment.make(request_for(minimum, version))
    changed = anew
    if packages:
        output = environment.install(packages)
        changed = anew or any(line.startswith((" + ", " - ", " ~ ")) for line in output.splitlines())
    module.exit_json(changed=changed, python=venv_version(environment.path))


if __name__ == "__main__":
    main()
