"""Where this machine gets its packages, handed to the hosts of a rehearsal.

Hosts in containers reach the package registries through this machine, so they need the same trust and the same way.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from rehearsal.setup.package_sources import package_sources

_PROXY_VARIABLES = ("http_proxy", "https_proxy", "no_proxy")


def machine_packages(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The `tpuwright:packages` of a rehearsal: ca_bundle, pip_index_url and proxies, each where the machine has it."""
    sources = package_sources(environment)
    proxies = {name: environment.get(name) or environment.get(name.upper()) or "" for name in _PROXY_VARIABLES}
    found = {"ca_bundle": sources.ca_bundle, "pip_index_url": sources.index_url, **proxies}
    return {name: value for name, value in found.items() if value}
