"""Where this machine gets its packages: CA bundle, proxy and mirrors, handed to the hosts of a rehearsal.

Hosts in containers reach the package registries through this machine, so they need the same trust and the same way.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

_CA_VARIABLES = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_PROXY_VARIABLES = ("http_proxy", "https_proxy", "no_proxy")


def machine_packages(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The `tpuwright:packages` of a rehearsal: ca_bundle, pip_index_url and proxies, each where the machine has it.

    The environment wins over pip's configuration files, as it does for pip itself. A CA bundle that does not exist is
    left out: a wrong path would break every host.
    """
    pip = _pip_configuration()
    found: dict[str, str] = {}
    bundles = [environment.get(variable, "") for variable in _CA_VARIABLES] + [pip.get("cert", "")]
    if bundle := next((path for path in bundles if path and Path(path).is_file()), None):
        found["ca_bundle"] = bundle
    if index := environment.get("PIP_INDEX_URL") or pip.get("index-url"):
        found["pip_index_url"] = index
    for variable in _PROXY_VARIABLES:
        if value := environment.get(variable) or environment.get(variable.upper()):
            found[variable] = value
    return found


def _pip_configuration() -> dict[str, str]:
    """pip's own view of its files (`pip config list`), by option name; environment variables are left out of it."""
    listing = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"],
        capture_output=True,
        text=True,
        check=False,
        env={key: value for key, value in os.environ.items() if not key.startswith("PIP_")},
    )
    options: dict[str, str] = {}
    for line in listing.stdout.splitlines():
        key, _, value = line.partition("=")
        options[key.rsplit(".", 1)[-1]] = value.strip().strip("'\"")
    return options
