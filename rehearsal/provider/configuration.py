"""The provider's configuration, and what it insists on: every request goes to the rehearsal's emulator."""

import ipaddress
import os
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field

from rehearsal.provider.api import Api
from rehearsal.provider.errors import GoogleApiError, ProviderError
from rehearsal.provider.scope import Defaults

# Each service's configuration key: the official plugin's names.
SERVICES = {
    "compute": "computeCustomEndpoint",
    "iam": "iamCustomEndpoint",
    "resourceManager": "resourceManagerCustomEndpoint",
    "serviceUsage": "serviceUsageCustomEndpoint",
    "tpuV2": "tpuV2CustomEndpoint",
}
_STATUS_PATH = "/_emulator/status"
_TOKEN_VARIABLES = ("GOOGLE_OAUTH_ACCESS_TOKEN",)
_WHAT_THIS_IS = (
    "this is the rehearsal's stand-in for the gcp plugin, which works with the rehearsal's emulator only; for a stack "
    "on Google install the official plugin with `pulumi plugin install resource gcp 10.2.0` and take the stand-in "
    "off PATH"
)


@dataclass(frozen=True)
class Configuration:
    """What a stack says under `gcp:`. `endpoints` by service, with a slash at the end; the token is a secret."""

    defaults: Defaults
    endpoints: Mapping[str, str]
    token: str = field(repr=False)


def read(settings: Mapping[str, object]) -> Configuration:
    """The configuration from the engine's settings and the environment.

    Raises:
        ProviderError: an endpoint is missing or not on this machine, or there is no access token.
    """
    given = {name: value for name, value in settings.items() if isinstance(value, str) and value}
    for name, value in given.items():
        if name.endswith("CustomEndpoint") and not _is_loopback(value):
            raise ProviderError(f"gcp:{name} is {value}, not an address of this machine: {_WHAT_THIS_IS}")
    missing = [name for name in SERVICES.values() if name not in given]
    if missing:
        raise ProviderError(f"gcp:{missing[0]} is not set, so requests would go to Google: {_WHAT_THIS_IS}")
    token = given.get("accessToken") or next(filter(None, map(os.environ.get, _TOKEN_VARIABLES)), "")
    if not token:
        raise ProviderError(
            "neither gcp:accessToken nor GOOGLE_OAUTH_ACCESS_TOKEN holds the emulator's access token; "
            'run `eval "$(tpuwright env rehearsal)"`'
        )
    return Configuration(
        Defaults(given.get("project", ""), given.get("zone", ""), given.get("region", "")),
        {service: given[key].rstrip("/") + "/" for service, key in SERVICES.items()},
        token,
    )


def insist_on_the_emulator(configuration: Configuration) -> None:
    """Ask each address of the endpoints whether it is the emulator.

    Raises:
        ProviderError: one is not, does not answer, or does not take the access token.
    """
    api = Api(configuration.token)
    origins = {urllib.parse.urlsplit(endpoint)[:2] for endpoint in configuration.endpoints.values()}
    for scheme, netloc in sorted(origins):
        origin = f"{scheme}://{netloc}"
        try:
            answer = api.request("GET", origin + _STATUS_PATH, timeout=0)
        except GoogleApiError as error:
            if error.code == 401:
                raise ProviderError(
                    f"the emulator at {origin} does not take the access token (it may have been started anew); "
                    'run `eval "$(tpuwright env rehearsal)"`'
                ) from error
            raise ProviderError(f"what answers at {origin} is not the emulator: {_WHAT_THIS_IS}") from error
        except ProviderError as error:
            raise ProviderError(
                f"no emulator answers at {origin} ({error}); start it with `tpuwright emulator start`"
            ) from error
        except ValueError as error:
            raise ProviderError(f"what answers at {origin} is not the emulator: {_WHAT_THIS_IS}") from error
        if not answer:
            raise ProviderError(f"what answers at {origin} is not the emulator: {_WHAT_THIS_IS}")


def _is_loopback(endpoint: str) -> bool:
    parts = urllib.parse.urlsplit(endpoint)
    if parts.scheme != "http" or not parts.hostname:
        return False
    # Names are not resolved: a name that means loopback today may mean another machine tomorrow.
    if parts.hostname == "localhost":
        return True
    try:
        return ipaddress.ip_address(parts.hostname).is_loopback
    except ValueError:
        return False
