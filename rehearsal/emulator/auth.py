"""Bearer tokens: the one made at start, and those that the metadata server gives to service accounts."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from pathlib import Path

USER = "rehearsal-user"
_PREFIX = "ya29.r."


def token_from(file: Path) -> str:
    """The token kept in a file, made (mode 0600) if there is none, so that a restart keeps it."""
    try:
        return file.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        pass
    token = f"ya29.{secrets.token_urlsafe(32)}"
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as handle:
        handle.write(token + "\n")
    return token


class Tokens:
    """Knows whose token is whose. A service account's token is derived, so it outlives a restart too."""

    def __init__(self, token: str) -> None:
        self.user_token = token

    def for_service_account(self, email: str) -> str:
        """A token that this emulator accepts for a service account (no expiry)."""
        name = base64.urlsafe_b64encode(email.encode()).decode().rstrip("=")
        return f"{_PREFIX}{name}.{self._signature(email)}"

    def caller(self, token: str) -> str | None:
        """The user or service account to whom a token belongs; None for a token of nobody."""
        if hmac.compare_digest(token.encode(), self.user_token.encode()):
            return USER
        name, _, signature = token.removeprefix(_PREFIX).partition(".")
        if not token.startswith(_PREFIX) or not signature:
            return None
        try:
            email = base64.urlsafe_b64decode(name + "=" * (-len(name) % 4)).decode()
        except ValueError:
            return None
        return email if hmac.compare_digest(signature.encode(), self._signature(email).encode()) else None

    def _signature(self, email: str) -> str:
        return hmac.new(self.user_token.encode(), email.encode(), hashlib.sha256).hexdigest()
