"""Ansible module: one exact uv, from the package index that the host uses, checked against its known hash."""

from __future__ import annotations

import hashlib
import html
import io
import platform
import re
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: uv_binary
short_description: Install one exact version of uv
description:
  - Takes uv's wheel from a package index (so a mirror will do, and neither pip nor GitHub is needed), checks its
    SHA-256, and puts the two programs into I(dest)/VERSION, with links in I(links).
options:
  version: {type: str, required: true}
  sha256: {type: dict, required: true, description: "Machine (x86_64, aarch64) to the SHA-256 of that wheel."}
  index_url: {type: str, default: "https://pypi.org/simple"}
  dest: {type: path, default: /opt/tpuwright/uv}
  links: {type: path, default: /usr/local/bin}
attributes: {check_mode: {support: full}}
"""

PROGRAMS = ("uv", "uvx")
_LINK = re.compile(r'<a\s[^>]*href="([^"]+)"[^>]*>\s*([^<]+?)\s*</a>', re.IGNORECASE)


def wheel_address(page: str, base: str, version: str, machine: str) -> str | None:
    """The address of uv's manylinux wheel on a simple-index page, absolute, without its fragment; None if not there."""
    name = re.compile(rf"uv-{re.escape(version)}-py3-none-manylinux_\d+_\d+_{machine}[^ ]*\.whl")
    for target, label in _LINK.findall(page):
        if name.fullmatch(html.unescape(label)):
            return urllib.parse.urldefrag(urllib.parse.urljoin(base, html.unescape(target))).url
    return None


def programs(wheel: bytes) -> dict[str, bytes]:
    """The programs that uv's wheel carries, by name."""
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        return {Path(m).name: archive.read(m) for m in archive.namelist() if re.search(r"\.data/scripts/uvx?$", m)}


def _get(address: str) -> bytes:
    request = urllib.request.Request(address, headers={"Accept": "text/html"})  # noqa: S310 # the role refuses other schemes
    with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
        content: bytes = response.read()
    return content


def _download(module: AnsibleModule, machine: str) -> dict[str, bytes]:
    version = module.params["version"]
    base = module.params["index_url"].rstrip("/") + "/uv/"
    try:
        address = wheel_address(_get(base).decode(), base, version, machine)
        if address is None:
            module.fail_json(
                msg=f"{base} has no uv {version} for Linux on {machine}; set python_uv_version to one that it has."
            )
        wheel = _get(address)
    except (urllib.error.URLError, OSError) as error:
        module.fail_json(
            msg=f"Could not get uv {version} from {base}: {error}. Check packages_pip_index_url, packages_https_proxy "
            "and packages_ca_bundle."
        )
    found = hashlib.sha256(wheel).hexdigest()
    expected = module.params["sha256"][machine]
    if found != expected:
        module.fail_json(
            msg=f"The wheel of uv {version} has SHA-256 {found}, but python_uv_sha256 says {expected}: it was not "
            "installed. Give the hash of this version, if the index can be trusted."
        )
    return programs(wheel)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "version": {"type": "str", "required": True},
            "sha256": {"type": "dict", "required": True},
            "index_url": {"type": "str", "default": "https://pypi.org/simple"},
            "dest": {"type": "path", "default": "/opt/tpuwright/uv"},
            "links": {"type": "path", "default": "/usr/local/bin"},
        },
        supports_check_mode=True,
    )
    machine = platform.machine()
    if machine not in module.params["sha256"]:
        module.fail_json(msg=f"This host is {machine}, for which python_uv_sha256 has no hash; add one.")
    directory = Path(module.params["dest"]) / module.params["version"]
    links = {Path(module.params["links"]) / name: directory / name for name in PROGRAMS}
    absent = not all(target.is_file() for target in links.values())
    unlinked = [link for link, target in links.items() if not link.is_symlink() or link.readlink() != target]
    if not module.check_mode:
        if absent:
            _write(directory, _download(module, machine))
        for link in unlinked:
            link.parent.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(links[link])
    module.exit_json(changed=absent or bool(unlinked), path=str(directory / "uv"))


def _write(directory: Path, contents: dict[str, bytes]) -> None:
    directory.mkdir(mode=0o755, parents=True, exist_ok=True)
    for name, content in contents.items():
        partial = directory / f"{name}.partial"  # so that a run that is cut leaves no half a program
        partial.write_bytes(content)
        partial.chmod(0o755)
        partial.rename(directory / name)


if __name__ == "__main__":
    main()
