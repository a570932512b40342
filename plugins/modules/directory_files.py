"""Ansible module: text files in one directory, in one task; other files there go, if one says so."""

from __future__ import annotations

import os
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: directory_files
short_description: Text files in one directory
description:
  - Writes I(files) into I(path), owned by root. With I(exact) every other file there is removed, so that what leaves
    the settings leaves the host. Directories inside I(path) are left alone.
options:
  path: {type: path, required: true}
  files: {type: dict, required: true, description: "File name to content."}
  mode: {type: str, default: "0644", description: "Of the files, octal."}
  exact: {type: bool, default: false, description: "Whether other files in the directory are removed."}
attributes: {check_mode: {support: full}, diff_mode: {support: full}}
"""


def differences(path: Path, files: dict[str, str], mode: int) -> tuple[list[str], list[str]]:
    """Names of the files to write (absent, or with other content or mode), and of all other files there."""
    present = {entry.name: entry for entry in path.iterdir() if not entry.is_dir()} if path.is_dir() else {}
    stale = [
        name
        for name, content in sorted(files.items())
        if name not in present
        or present[name].read_text(errors="replace") != content
        or present[name].stat().st_mode & 0o7777 != mode
    ]
    return stale, sorted(present.keys() - files.keys())


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "files": {"type": "dict", "required": True},
            "mode": {"type": "str", "default": "0644"},
            "exact": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    path, mode = Path(module.params["path"]), int(module.params["mode"], 8)
    files = {name: str(content) for name, content in module.params["files"].items()}
    for name in files:
        if name in {"", ".", ".."} or "/" in name:
            module.fail_json(msg=f"directory_files: {name!r} is not a file name; give names without directories.")
    stale, others = differences(path, files, mode)
    surplus = others if module.params["exact"] else []
    before = {name: (path / name).read_text() if (path / name).is_file() else "" for name in [*stale, *surplus]}
    if not module.check_mode:
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
        for name in stale:
            partial = path / f".{name}.partial"  # renamed into place: readers see the old file or the new one
            partial.write_text(files[name])
            partial.chmod(mode)
            os.replace(partial, path / name)
        for name in surplus:
            (path / name).unlink()
    diff = [{"before": text, "after": files.get(name, ""), "before_header": name} for name, text in before.items()]
    module.exit_json(changed=bool(stale or surplus), written=stale, removed=surplus, diff=diff)


if __name__ == "__main__":
    main()
