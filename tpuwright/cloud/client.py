"""A Google API client for any endpoint: the discovery document ships with google-api-python-client.

The endpoints are those of the stack ("https://tpu.googleapis.com/v2alpha1/"), version path included, as the Pulumi
provider takes them: the version names the discovery document too.
"""

import logging
import random
import time
from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import urlsplit

import google.auth.exceptions
import google_auth_httplib2  # type: ignore[import-untyped]
import httplib2  # type: ignore[import-untyped]
from googleapiclient import discovery, errors  # type: ignore[import-untyped]

from tpuwright.cloud.credentials import credentials
from tpuwright.cloud.errors import TRANSIENT, CloudError, from_text

logger = logging.getLogger(__name__)

DEFAULT_ENDPOINTS: Final[dict[str, str]] = {
    "tpu": "https://tpu.googleapis.com/v2alpha1/",
    "compute": "https://compute.googleapis.com/compute/beta/",
    "iam": "https://iam.googleapis.com/v1/",
    "cloudresourcemanager": "https://cloudresourcemanager.googleapis.com/v1/",
    "serviceusage": "https://serviceusage.googleapis.com/v1/",
}
ENDPOINT_KEYS: Final[dict[str, str]] = {
    "tpu": "gcp:tpuV2CustomEndpoint",
    "compute": "gcp:computeCustomEndpoint",
    "iam": "gcp:iamCustomEndpoint",
    "cloudresourcemanager": "gcp:resourceManagerCustomEndpoint",
    "serviceusage": "gcp:serviceUsageCustomEndpoint",
}
"""The key of a stack's configuration that replaces the default endpoint of each service."""
TIMEOUT_SECONDS: Final = 30
RETRY_SECONDS: Final = 20.0
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


def service(name: str, endpoint: str | None = None) -> Any:
    """The client of Google's service ``name`` (tpu, compute, iam, ...) at ``endpoint``; it sends nothing yet."""
    url = endpoint or DEFAULT_ENDPOINTS[name]
    parts = urlsplit(url.rstrip("/"))
    version = parts.path.rsplit("/", 1)[-1]
    # Only compute's document has the version in its service path; the others write it in every method's path.
    base = f"{url.rstrip('/')}/" if name == "compute" else f"{parts.scheme}://{parts.netloc}/"
    prefix = parts.path.rsplit("/", 1)[0]
    if name != "compute" and prefix:
        base = f"{parts.scheme}://{parts.netloc}{prefix}/"
    proxy = None if parts.hostname in _LOOPBACK else httplib2.proxy_info_from_environment
    http = google_auth_httplib2.AuthorizedHttp(
        credentials(), http=httplib2.Http(timeout=TIMEOUT_SECONDS, proxy_info=proxy)
    )
    return discovery.build(
        name,
        version,
        http=http,
        static_discovery=True,
        cache_discovery=False,
        client_options={"api_endpoint": base},
    )


def call(request: Callable[[], Any], asked: str) -> Any:
    """Run ``request().execute()``; retries what passes by itself for at most 20 s. ``asked`` completes the sentence.

    Raises ``CloudError``: one sentence, with what to do.
    """
    end = time.monotonic() + RETRY_SECONDS
    pause = 0.5
    while True:
        try:
            return request().execute()
        except (errors.Error, OSError, httplib2.HttpLib2Error, google.auth.exceptions.GoogleAuthError) as error:
            failure = _failure(error, asked)
        if failure.kind not in TRANSIENT or time.monotonic() + pause > end:
            raise failure
        logger.info("%s; trying again in %.1f s", failure.sentence, pause)
        time.sleep(pause * (0.5 + random.random() / 2))  # noqa: S311 - spreads retries, hides nothing
        pause = min(pause * 2, 5.0)


def pages(
    first: Callable[[], Any], following: Callable[[Any, Any], Any], key: str, asked: str
) -> Iterator[dict[str, Any]]:
    """Every item under ``key`` of a list method, page by page."""
    request = first()
    while request is not None:
        current = request
        answer = call(lambda: current, asked)  # noqa: B023 - called at once
        yield from answer.get(key, [])
        request = following(request, answer)


def _failure(error: Exception, asked: str) -> CloudError:
    if isinstance(error, errors.HttpError):
        text = error.content.decode(errors="replace") if isinstance(error.content, bytes) else str(error.content)
        return from_text(f"Error {error.resp.status}: {text}", asked)
    return from_text(f"{type(error).__name__}: {error}", asked)
