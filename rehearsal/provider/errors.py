"""What can go wrong between the stand-in and the API, in the words of the official plugin."""

import json
from collections.abc import Mapping
from typing import Any

# Google's clients call these passing and try again (terraform-provider-google, `isCommonRetryableErrorCode`).
_PASSING = {429, 500, 502, 503}


class ProviderError(Exception):
    """Shown to the user as it is."""


class Cancelled(ProviderError):
    """The engine asked to stop while the stand-in waited."""


class GoogleApiError(ProviderError):
    """An answer that is not 2xx, as Go's `googleapi.Error` prints it."""

    def __init__(self, code: int, body: str) -> None:
        self.code = code
        self.body = body
        super().__init__(_said(code, body))

    @property
    def is_passing(self) -> bool:
        """Whether the same request may succeed a little later."""
        if self.code in _PASSING:
            return True
        unready = "resourceNotReady" in self.body and "networks" in self.body
        busy = "operationInProgress" in self.body
        return (self.code == 400 and unready) or (self.code == 409 and busy)


def _said(code: int, body: str) -> str:
    error = _error(body)
    message = str(error.get("message", ""))
    parts = [part for part in error.get("errors") or [] if isinstance(part, Mapping)]
    if not message and not parts:
        return f"googleapi: got HTTP response code {code} with body: {body}"
    text = f"googleapi: Error {code}: {message}"
    if error.get("details"):
        text += "\nDetails:\n" + json.dumps(error["details"], indent=2)
    if not parts:
        return text.strip()
    if len(parts) == 1 and parts[0].get("message") == message:
        return f"{text}, {parts[0].get('reason', '')}"
    lines = [f"Reason: {part.get('reason', '')}, Message: {part.get('message', '')}" for part in parts]
    return "\n".join([text, "More details:", *lines, ""])


def _error(body: str) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except ValueError:
        return {}
    error = document.get("error") if isinstance(document, dict) else None
    return error if isinstance(error, dict) else {}


def as_the_plugin_says(error: ProviderError) -> str:
    """The text as Pulumi shows an error of the official plugin."""
    return f"1 error occurred:\n\t* {error}\n\n"
