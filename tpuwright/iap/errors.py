"""Why a tunnel ended, in one sentence with what to do.

The relay's close codes are from gcloud's client (4003, 4004) and Google's iap-desktop (the others).
"""

from __future__ import annotations

from dataclasses import dataclass

from tpuwright.errors import TpuwrightError


class TunnelError(TpuwrightError):
    """The tunnel cannot be opened, or broke: one sentence."""


@dataclass(frozen=True)
class Where:
    """What is to be reached."""

    instance: str
    port: int
    project: str
    zone: str

    def __str__(self) -> str:
        return f"port {self.port} of {self.instance} ({self.zone}, project {self.project})"


_LOGIN = (
    "the access token is missing, expired or of another project; run `gcloud auth application-default login`, or for a "
    'rehearsal `eval "$(tpuwright env rehearsal)"`'
)


def refused(where: Where, status: int) -> TunnelError:
    """The relay answered the websocket's handshake with an HTTP ``status``."""
    if status == 401:
        return TunnelError(f"IAP refused the way to {where}: {_LOGIN}.")
    if status in (400, 403, 404):
        return TunnelError(
            f"IAP refused the way to {where} (HTTP {status}): you need the role roles/iap.tunnelResourceAccessor in "
            "the project, and instance, zone and project must be right."
        )
    return TunnelError(f"IAP refused the way to {where} (HTTP {status}): try again in a minute.")


def closed(where: Where, code: int, reason: str) -> TunnelError:
    """The relay closed the websocket with ``code``, a code that ends the session."""
    advice = {
        4003: (
            "nothing listens there or the firewall forbids it; the machine may still be booting, and a rule must allow "
            "35.235.240.0/20 to that port"
        ),
        4004: _LOGIN,
        4033: "you need the role roles/iap.tunnelResourceAccessor in the project",
        4047: "there is no such instance in that zone; run `pulumi refresh`, then `pulumi up`",
        4051: "the instance is gone; run `pulumi refresh`, then `pulumi up`",
        4009: "the machine ended the connection",
        4010: "the machine ended the connection",
        4001: "the connection was lost for too long to go on with it; connect again",
    }.get(code)
    said = f"IAP closed the way to {where} ({code}{f', {reason}' if reason else ''})"
    return TunnelError(f"{said}: {advice or 'try again, and look at `gcloud compute instances describe` if it stays'}.")


def unreachable(where: Where, url: str, error: Exception) -> TunnelError:
    """No websocket could be had from ``url``."""
    why = " ".join(str(error).split()) or type(error).__name__
    return TunnelError(
        f"The IAP relay at {url} cannot be reached for {where} ({why}): check the network and proxy settings, and for "
        "a rehearsal that `tpuwright emulator status` says it runs."
    )
