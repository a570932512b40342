"""Ansible module: make a host trust the certificate authorities of a PEM bundle, by the distribution's own means."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: ca_certificates
short_description: Trust the certificate authorities of a bundle
description:
  - Adds each certificate of a PEM bundle that the distribution does not ship already, one file each, and rebuilds the
    store with update-ca-certificates, so that apt, git, curl, pip and uv trust them.
  - A certificate that has left the bundle leaves the store. An empty I(bundle) removes all that this module added.
options:
  bundle: {type: str, default: "", description: "Text of the bundle."}
  source: {type: str, default: "", description: "Where the text comes from, for messages."}
attributes: {check_mode: {support: full}}
"""

LOCAL = Path("/usr/local/share/ca-certificates/tpuwright")
DISTRIBUTION = Path("/usr/share/ca-certificates")
STORE = Path("/etc/ssl/certs/ca-certificates.crt")
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----\s*(.*?)-----END CERTIFICATE-----", re.DOTALL)


def certificates(pem: str) -> dict[str, str]:
    """Every certificate of a PEM text: SHA-256 of its DER form, to the certificate in PEM.

    Raises ValueError when a block is not base64.
    """
    found = {}
    for match in _CERTIFICATE.finditer(pem):
        der = base64.b64decode("".join(match.group(1).split()), validate=True)
        body = base64.encodebytes(der).decode()
        found[hashlib.sha256(der).hexdigest()] = f"-----BEGIN CERTIFICATE-----\n{body}-----END CERTIFICATE-----\n"
    return found


def wanted_files(bundle: str, shipped: set[str]) -> dict[str, str]:
    """File name to content for what the bundle adds to the certificates that the distribution ships."""
    return {f"tpuwright-{k[:16]}.crt": pem for k, pem in certificates(bundle).items() if k not in shipped}


def _shipped(root: Path) -> set[str]:
    texts = (path.read_text(errors="replace") for path in root.rglob("*.crt"))
    return {digest for text in texts for digest in certificates(text)}


def main() -> None:
    module = AnsibleModule(
        argument_spec={"bundle": {"type": "str", "default": ""}, "source": {"type": "str", "default": ""}},
        supports_check_mode=True,
    )
    bundle, source = module.params["bundle"], module.params["source"]
    if bundle and not _CERTIFICATE.search(bundle):
        module.fail_json(
            msg=f"The CA bundle {source} holds no PEM certificate, so nothing could be trusted by it; name a file with "
            "BEGIN CERTIFICATE blocks."
        )
    try:
        wanted = wanted_files(bundle, _shipped(DISTRIBUTION)) if bundle else {}
    except ValueError as error:
        module.fail_json(msg=f"The CA bundle {source} holds a damaged certificate ({error}); mend the file.")
    present = {path.name: path.read_text() for path in LOCAL.glob("*.crt")} if LOCAL.is_dir() else {}
    store = STORE.read_text() if STORE.is_file() else ""
    unbuilt = any(pem not in store for pem in wanted.values())  # written, but killed before the store was built
    changed = wanted != present or unbuilt
    if changed and not module.check_mode:
        _apply(module, wanted, present)
    result: dict[str, Any] = {"changed": changed, "added": sorted(wanted)}
    module.exit_json(**result)


def _apply(module: AnsibleModule, wanted: dict[str, str], present: dict[str, str]) -> None:
    command = module.get_bin_path("update-ca-certificates")
    if not command:
        module.fail_json(msg="update-ca-certificates is missing on the host; install the package ca-certificates.")
    LOCAL.mkdir(mode=0o755, parents=True, exist_ok=True)
    for name in present.keys() - wanted.keys():
        (LOCAL / name).unlink()
    for name, pem in wanted.items():
        (LOCAL / name).write_text(pem)
        (LOCAL / name).chmod(0o644)
    module.run_command([command], check_rc=True)


if __name__ == "__main__":
    main()
