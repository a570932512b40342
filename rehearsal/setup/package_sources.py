"""Where this machine gets its Python packages: pip's configuration, said in the words of uv.

Standard library only: this runs before anything is installed.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_CA_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


@dataclass(frozen=True)
class PackageSources:
    """Mirrors, CA bundle and proxy of this machine; an empty field is one that the machine does not set."""

    index_url: str = ""
    extra_index_urls: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    trusted_hosts: tuple[str, ...] = ()
    ca_bundle: str = ""
    proxy: str = ""
    timeout_seconds: str = ""

    def for_uv(self, environment: Mapping[str, str]) -> dict[str, str]:
        """`environment`, and what uv has to be told on top; a variable that is there already wins."""
        told = {
            "UV_DEFAULT_INDEX": self.index_url,
            "UV_INDEX": " ".join(self.extra_index_urls),
            "UV_FIND_LINKS": ",".join(self.find_links),
            "UV_INSECURE_HOST": " ".join(self.trusted_hosts),
            "UV_HTTP_TIMEOUT": self.timeout_seconds,
            "SSL_CERT_FILE": self.ca_bundle,
            "HTTP_PROXY": self.proxy,
            "HTTPS_PROXY": self.proxy,
            # pip looks into every index; uv stops at the first that has the name. The lock's hashes make both safe.
            "UV_INDEX_STRATEGY": "unsafe-best-match" if self.extra_index_urls else "",
        }
        present = {name.upper() for name, value in environment.items() if value}
        return {**environment, **{name: value for name, value in told.items() if value and name not in present}}


def package_sources(environment: Mapping[str, str] = os.environ) -> PackageSources:
    """What pip would use here: its files and PIP_* variables, as pip itself reads and ranks them."""
    pip = pip_options(pip_config_list(environment))
    ca_bundles = [pip.get("cert", ""), *(environment.get(name, "") for name in _CA_VARIABLES)]
    return PackageSources(
        index_url=pip.get("index-url", ""),
        extra_index_urls=tuple(pip.get("extra-index-url", "").split()),
        find_links=tuple(link for link in pip.get("find-links", "").split() if _usable_link(link)),
        trusted_hosts=tuple(pip.get("trusted-host", "").split()),
        ca_bundle=next((bundle for bundle in ca_bundles if bundle and Path(bundle).is_file()), ""),
        proxy=pip.get("proxy", ""),
        timeout_seconds=pip.get("default-timeout", pip.get("timeout", "")),
    )


def pip_config_list(environment: Mapping[str, str]) -> str:
    """The lines of `pip config list`: SECTION.OPTION='value', PIP_* variables under the section `:env:`."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "config", "list"]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=dict(environment)).stdout


def pip_options(listing: str) -> dict[str, str]:
    """Options by name as `pip install` sees them: [global], overruled by [install], overruled by the environment."""
    ranked: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in listing.splitlines():
        key, equals, value = line.partition("=")
        section, _, option = key.rpartition(".")
        if equals and section in ranked:
            ranked[section][option] = str(ast.literal_eval(value))
    return ranked["global"] | ranked["install"] | ranked[":env:"]


def _usable_link(link: str) -> bool:
    # pip passes over a directory that does not exist; uv stops there.
    return "://" in link or Path(link).expanduser().is_dir()
