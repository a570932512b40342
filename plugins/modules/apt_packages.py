"""Ansible module: Debian packages in one transaction, with a bounded wait for whoever holds apt's lock."""

from __future__ import annotations

import fcntl
import os
import re
import time
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: apt_packages
short_description: Install Debian packages in one transaction
description:
  - Installs what host_state found missing. Unlike ansible.builtin.apt, which fails in check mode while a host's package
    lists are empty, and waits only for dpkg, this waits for the lock of the lists as well, and names who holds it.
options:
  names: {type: list, elements: str, required: true, description: "Missing packages, as host_state tells."}
  recommends: {type: bool, default: false, description: "Install recommended packages too."}
  lock_timeout: {type: int, default: 600, description: "Seconds to wait for another package manager."}
  lists_valid: {type: int, default: 86400, description: "Seconds for which downloaded package lists are good."}
attributes: {check_mode: {support: full}}
"""

LOCKS = ("/var/lib/dpkg/lock-frontend", "/var/lib/dpkg/lock", "/var/lib/apt/lists/lock", "/var/cache/apt/archives/lock")
LISTS = Path("/var/lib/apt/lists")


def lists_age(lists: Path, now: float) -> float:
    """Seconds since the package lists in `lists` were fetched; infinite when there are none."""
    stamps = [path.stat().st_mtime for path in lists.glob("*_Packages*")]
    if not stamps:
        return float("inf")
    return now - max(lists.stat().st_mtime, *stamps)


def holder(lock: str) -> str:
    """Who holds a file lock, as "name (process 12)", from /proc/locks; "another process" where the kernel hides it."""
    status = Path(lock).stat()
    wanted = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    for line in Path("/proc/locks").read_text().splitlines():
        match = re.search(rf"\s(\d+)\s{wanted}\s", line)
        if match and Path(f"/proc/{match.group(1)}/comm").exists():
            name = Path(f"/proc/{match.group(1)}/comm").read_text().strip()
            return f"{name} (process {match.group(1)})"
    return "another process"


def wait_for_locks(locks: tuple[str, ...], deadline: float) -> None:
    """Returns when no other process holds one of apt's locks; raises TimeoutError naming the holder at `deadline`."""
    for lock in locks:
        while Path(lock).exists() and not _free(lock):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{lock} is still held by {holder(lock)}")
            time.sleep(0.5)  # there is no way to wait for a lock with a deadline but to ask again


def _free(lock: str) -> bool:
    with Path(lock).open("r+") as handle:
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "names": {"type": "list", "elements": "str", "required": True},
            "recommends": {"type": "bool", "default": False},
            "lock_timeout": {"type": "int", "default": 600},
            "lists_valid": {"type": "int", "default": 86400},
        },
        supports_check_mode=True,
    )
    names = module.params["names"]
    if names and not module.check_mode:
        _install(module, names)
    module.exit_json(changed=bool(names), installed=names)


def _install(module: AnsibleModule, missing: list[str]) -> None:
    deadline = time.monotonic() + module.params["lock_timeout"]
    apt = ["apt-get", "-o", f"DPkg::Lock::Timeout={module.params['lock_timeout']}", "-q", "-y"]
    if lists_age(LISTS, time.time()) > module.params["lists_valid"]:
        # without translated descriptions, which take a third of the time; the next update of any other brings them
        update = [*apt, "-o", "Acquire::Languages=none", "update", "--error-on=any"]
        _apt(module, update, deadline, "refresh the package lists")
    recommends = f"APT::Install-Recommends={'true' if module.params['recommends'] else 'false'}"
    # dpkg's sync after each file serves a power cut in mid-installation; a run that was cut is simply run again
    options = ["-o", recommends, "-o", "Dpkg::Options::=--force-confold", "-o", "Dpkg::Options::=--force-unsafe-io"]
    _apt(module, [*apt, *options, "install", "--", *missing], deadline, "install " + " ".join(missing))


def _apt(module: AnsibleModule, command: list[str], deadline: float, what: str) -> None:
    environment = {"DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_MODE": "l", "LC_ALL": "C.UTF-8"}
    while True:
        try:
            wait_for_locks(LOCKS, deadline)
        except TimeoutError as error:
            waited = module.params["lock_timeout"]
            module.fail_json(
                msg=f"Could not {what}: {error} after {waited} s. Let it finish and run again, or raise "
                "packages_lock_timeout."
            )
        code, out, err = module.run_command(command, environ_update=environment)
        if code == 0:
            return
        if "dpkg was interrupted" in err:  # a host that was switched off in mid-installation
            module.run_command(["dpkg", "--configure", "-a"], environ_update=environment, check_rc=True)
            continue
        # another package manager may have come between the look and the command: that alone is tried again
        if "Could not get lock" not in err or time.monotonic() > deadline:
            module.fail_json(msg=f"Could not {what}: {_reason(err or out)}", stdout=out, stderr=err, rc=code)


def _reason(output: str) -> str:
    errors = [line[3:] for line in output.splitlines() if line.startswith("E: ")]
    return " ".join(errors) or output.strip().rpartition("\n")[2]


if __name__ == "__main__":
    main()
