"""The sentences in which Cloud TPU refuses, as its own API words them.

Sources: the trackers of skypilot (#3840, #4579), terraform-provider-google (#21243), marin (#87, #3404), and
gcloud transcripts in public repositories. Google ends most with an error id, "[EID: 0x...]"; so do we.
Where no public source quotes a sentence, Google's frame "Cloud TPU received a bad request." is kept and the
reason said in our words.
"""

from __future__ import annotations

from rehearsal.emulator.errors import ApiError
from rehearsal.emulator.operations import number_of

_TIERS = {"spot": "Preemptible", "standard": ""}
_QUOTA_NAMES = {
    "v2": "TPUV2s",
    "v3": "TPUV3s",
    "v4": "TPUV4s",
    "v5e": "TPUV5s",
    "v5p": "TPUV5P",
    "v6e": "TPUV6E",
}


def _with_id(message: str) -> str:
    return f"{message} [EID: 0x{int(number_of(message)):x}]"


def bad_request(reason: str) -> ApiError:
    """HTTP 400 in Cloud TPU's frame; `reason` has no full stop."""
    return ApiError(400, _with_id(f"Cloud TPU received a bad request. {reason}"))


def wrong_state(verb: str, state: str) -> ApiError:
    """HTTP 400: `verb` is update, start, stop, ..."""
    return bad_request(f"{verb} is not supported while in state {state}")


def not_found(name: str) -> ApiError:
    return ApiError(404, f"Resource '{name}' was not found", details=[_resource(name)])


def already_exists(name: str) -> ApiError:
    return ApiError(409, f"Resource '{name}' already exists", details=[_resource(name)])


def no_such_type(accelerator_type: str, zone: str) -> ApiError:
    return bad_request(
        f'The requested accelerator configuration for accelerator type, "{accelerator_type}", could not be found '
        f'in the zonal accelerator configurations for "{zone}".; the accelerator {accelerator_type} was not found '
        f"in zone {zone}"
    )


def no_capacity(zone: str) -> ApiError:
    """As an operation's error: code 8."""
    return ApiError(
        429,
        _with_id(
            f'There is no more capacity in the zone "{zone}"; you can try in another zone where Cloud TPU Nodes '
            "are offered (see https://cloud.google.com/tpu/docs/regions)"
        ),
    )


def no_reserved_capacity() -> ApiError:
    """As an operation's error: code 8."""
    return ApiError(
        429,
        _with_id("Insufficient reserved capacity. Contact customer support to increase your reservation."),
    )


def no_addresses(subnetwork: str) -> ApiError:
    """As an operation's error: code 8."""
    return ApiError(429, _with_id(f"IP space of '{subnetwork}' is exhausted."))


def over_quota(generation: str, tier: str, limit: int, zone: str, project_number: str) -> ApiError:
    """HTTP 429 at admission; spot quotas count by region, standard ones by zone."""
    pod = "Litepod" if generation == "v5e" else ""
    place, where = ("Region", zone.rpartition("-")[0]) if tier == "spot" else ("Zone", zone)
    name = f"{_QUOTA_NAMES[generation]}{_TIERS[tier]}{pod}PerProjectPer{place}ForTPUAPI"
    return ApiError(
        429,
        f"Quota limit '{name}' has been exceeded. Limit: {limit} in {place.lower()} {where}.",
        details=[
            {
                "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                "violations": [
                    {
                        "subject": f"project:{project_number}",
                        "description": f"Quota '{name}' exhausted. Limit {limit} in {place.lower()} {where}",
                    }
                ],
            }
        ],
    )


def _resource(name: str) -> dict[str, object]:
    return {"@type": "type.googleapis.com/google.rpc.ResourceInfo", "resourceName": name}
