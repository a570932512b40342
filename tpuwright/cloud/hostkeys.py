"""ssh host keys as the guest agent publishes them: guest attributes, namespace "hostkeys", one for each algorithm."""

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

_ALGORITHM: Final = re.compile(r"^(ssh-ed25519|ecdsa-sha2-nistp(256|384|521)|ssh-rsa)$")


@dataclass(frozen=True, order=True)
class HostKey:
    """A public host key: ``algorithm`` "ssh-ed25519", ``key`` base64."""

    algorithm: str
    key: str


def host_keys(items: Iterable[Mapping[str, Any]]) -> list[HostKey]:
    """The well-formed host keys among guest attributes, sorted; anything else is left out.

    The values were written by the guest, so nothing in them may reach a known_hosts file unchecked.
    """
    found = set()
    for item in items:
        algorithm, key = str(item.get("key", "")), str(item.get("value", "")).strip().split(" ")[0]
        if item.get("namespace") == "hostkeys" and _ALGORITHM.match(algorithm) and _is_key(algorithm, key):
            found.add(HostKey(algorithm, key))
    return sorted(found)


def _is_key(algorithm: str, key: str) -> bool:
    try:
        blob = base64.b64decode(key, validate=True)
    except (binascii.Error, ValueError):
        return False
    length = int.from_bytes(blob[:4], "big")
    return blob[4 : 4 + length] == algorithm.encode()
