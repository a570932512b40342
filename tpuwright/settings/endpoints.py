"""Addresses of services: a token travels to them, so in clear text only within this machine."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Literal
from urllib.parse import urlsplit


def web_address_problem(address: str, *, scheme: Literal["http", "ws"]) -> str | None:
    """None for ``https://…`` (or ``wss://…``) anywhere and for ``http://…`` on the loopback interface."""
    parts = urlsplit(address)
    if parts.scheme not in (scheme, f"{scheme}s") or not parts.hostname:
        return f"is not an address: write one that begins with {scheme}s://"
    if parts.username or parts.password:
        return "carries a password, which a stack's file must not: remove it"
    if parts.scheme == scheme and not is_loopback(parts.hostname):
        return f"would send your access token in clear text: write it with {scheme}s://"
    return None


def is_loopback(host: str) -> bool:
    """Whether that host is this machine, and stays so whatever a name server says."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
