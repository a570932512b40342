"""Addresses of services: a token travels to them, so in clear text only within this machine."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Literal
from urllib.parse import urlsplit

from tpuwright.settings.problems import RefusedError


def check_address(address: str, *, scheme: Literal["http", "ws"]) -> str:
    """Accept ``https://…`` (or ``wss://…``) anywhere, ``http://…`` on the loopback interface; else RefusedError."""
    parts = urlsplit(address)
    if parts.scheme not in (scheme, f"{scheme}s") or not parts.hostname:
        raise RefusedError(f"is not an address: write one that begins with {scheme}s://")
    if parts.username or parts.password:
        raise RefusedError("carries a password, which a stack's file must not: remove it", hide=True)
    if parts.scheme == scheme and not is_loopback(parts.hostname):
        raise RefusedError(f"would send your access token in clear text: write it with {scheme}s://")
    return address


def is_loopback(host: str) -> bool:
    """Whether that host is this machine, and stays so whatever a name server says."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
