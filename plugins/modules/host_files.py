"""Ansible module: all the text files that a role owns on a host, in one task."""

from __future__ import annotations

import os
import pwd
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: host_files
short_description: A role's text files, in one task
description:
  - A task costs half a second for four hosts on two cores, whether it changes anything or not; so a role hands over all
    its files at once. Each is replaced in one step, after it was checked, and missing directories are made.
options:
  files:
    type: list
    elements: dict
    required: true
    suboptions:
      path: {type: path, required: true, description: "~USER/ is that user's home directory."}
      content: {type: str, required: true}
      mode: {type: str, default: "0644", description: "Octal."}
      owner: {type: str, default: root}
      block: {type: str, description: "Only the lines between marks with this name are ours; others in the file stay."}
      once: {type: bool, default: false, description: "Written only where there is none: it belongs to the user then."}
      validate: {type: str, description: "Command that must accept the new file, named %s, before it is put in place."}
  exact: {type: list, elements: path, default: [], description: "Directories that keep no other files than these."}
attributes: {check_mode: {support: full}, diff_mode: {support: full}}
returns:
  written: {type: list, description: "Paths of the files that were, or would be, written."}
  removed: {type: list, description: "Paths of those that were, or would be, removed."}
"""

FILE = {
    "path": {"type": "path", "required": True},
    "content": {"type": "str", "required": True},
    "mode": {"type": "str", "default": "0644"},
    "owner": {"type": "str", "default": "root"},
    "block": {"type": "str"},
    "once": {"type": "bool", "default": False},
    "validate": {"type": "str"},
}


@dataclass
class Change:
    """A file as it is (None: absent) and as it shall be, and the entry that asks for it."""

    path: Path
    before: str | None
    after: str
    entry: dict[str, Any]


def with_block(before: str, name: str, content: str) -> str:
    """`before` with the lines between the marks called `name` replaced by `content`; no marks when that is empty."""
    begin, end = f"# BEGIN tpuwright: {name}", f"# END tpuwright: {name}"
    lines = before.splitlines()
    if begin in lines and end in lines[lines.index(begin) :]:
        first = lines.index(begin)
        head, tail = lines[:first], lines[lines.index(end, first) + 1 :]
    else:
        head, tail = lines, []
    block = [begin, *content.splitlines(), end] if content.strip() else []
    result = [*head, *block, *tail]
    return "\n".join(result) + "\n" if result else ""


def changes(entries: list[dict[str, Any]]) -> list[Change]:
    """What differs between the host and `entries`, in content, mode or owner."""
    found = []
    for entry in entries:
        path = Path(entry["path"])
        before = path.read_text(errors="surrogateescape") if path.is_file() else None
        if before is not None and entry["once"]:
            continue
        after = with_block(before or "", entry["block"], entry["content"]) if entry["block"] else entry["content"]
        if (before or "") != after or (before is None and not entry["block"]) or not _same_rights(path, entry):
            found.append(Change(path, before, after, entry))
    return found


def _same_rights(path: Path, entry: dict[str, Any]) -> bool:
    if not path.exists():
        return bool(entry["block"])  # an empty block in a file that is not there: nothing to do
    status = path.stat()
    try:
        owner = pwd.getpwnam(entry["owner"]).pw_uid
    except KeyError:
        return False
    return status.st_uid == owner and status.st_mode & 0o7777 == int(entry["mode"], 8)


def surplus(directories: list[str], entries: list[dict[str, Any]]) -> list[Path]:
    """Files in `directories` that no entry asks for."""
    wanted = {entry["path"] for entry in entries}
    present = (path for directory in directories if Path(directory).is_dir() for path in Path(directory).iterdir())
    return sorted(path for path in present if not path.is_dir() and str(path) not in wanted)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "files": {"type": "list", "elements": "dict", "required": True, "options": FILE},
            "exact": {"type": "list", "elements": "path", "default": []},
        },
        supports_check_mode=True,
    )
    entries = module.params["files"]
    todo = changes(entries)
    others = surplus(module.params["exact"], entries)
    if not module.check_mode:
        for directory in module.params["exact"]:
            Path(directory).mkdir(mode=0o755, parents=True, exist_ok=True)
        for change in todo:
            _write(module, change)
        for path in others:
            path.unlink()
    module.exit_json(
        changed=bool(todo or others),
        written=[str(change.path) for change in todo],
        removed=[str(path) for path in others],
        diff=[{"before": c.before or "", "after": c.after, "before_header": str(c.path)} for c in todo],
    )


def _write(module: AnsibleModule, change: Change) -> None:
    entry, path = change.entry, change.path
    try:
        owner = pwd.getpwnam(entry["owner"])
    except KeyError:
        module.fail_json(msg=f"{path} shall belong to {entry['owner']}, who is not a user of this host.")
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.tpuwright")
    partial.write_text(change.after, errors="surrogateescape")
    partial.chmod(int(entry["mode"], 8))
    os.chown(partial, owner.pw_uid, owner.pw_gid)
    if entry["validate"]:
        command = [part.replace("%s", str(partial)) for part in shlex.split(entry["validate"])]
        code, out, err = module.run_command(command)
        if code:
            partial.unlink()
            module.fail_json(
                msg=f"{path} was left as it was: {command[0]} refuses the new one ({(err or out).strip()})."
            )
    partial.replace(path)


if __name__ == "__main__":
    main()
