"""The access token: GOOGLE_OAUTH_ACCESS_TOKEN (as the official Pulumi plugin reads it), else Application Default.

google.auth is imported only when it is needed: the IAP client starts once for each ssh and must start fast.
"""

import os
from typing import TYPE_CHECKING, Final

from tpuwright.cloud.errors import CloudError, from_text

if TYPE_CHECKING:
    from google.auth.credentials import Credentials

SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
TOKEN_VARIABLE: Final = "GOOGLE_OAUTH_ACCESS_TOKEN"  # noqa: S105 - the variable's name


def credentials() -> "Credentials":
    """Credentials for Google's client libraries; raises ``CloudError`` when there are none."""
    import google.auth
    import google.auth.exceptions
    import google.oauth2.credentials

    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if token:
        return google.oauth2.credentials.Credentials(token=token)  # type: ignore[no-untyped-call]
    try:
        found: Credentials
        found, _project = google.auth.default(scopes=[SCOPE])
    except google.auth.exceptions.GoogleAuthError as error:
        raise from_text(f"{type(error).__name__}: {error}", "Google credentials") from error
    return found


def access_token() -> str:
    """A bearer token that is valid now; raises ``CloudError`` when there is none."""
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if token:
        return token
    import google.auth.exceptions
    import google.auth.transport.requests

    found = credentials()
    try:
        found.refresh(google.auth.transport.requests.Request())  # type: ignore[no-untyped-call]
    except google.auth.exceptions.GoogleAuthError as error:
        raise from_text(f"{type(error).__name__}: {error}", "an access token") from error
    if not found.token:
        raise CloudError(
            "credentials_expired", "Google gave no access token: run `gcloud auth application-default login`."
        )
    return str(found.token)
