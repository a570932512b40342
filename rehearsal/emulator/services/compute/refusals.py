"""The sentences in which Compute Engine refuses a request, as its own API words them.

Sources: the error bodies quoted in the trackers of hashicorp/terraform-provider-google (issues 872, 2140,
4032, 7895, 28572) and google/osv.dev#5629, and Google's API error catalogue. A sentence that no public
source quotes keeps Google's frame ("Invalid value for field ...") and says the reason in our words.
"""

from __future__ import annotations

from rehearsal.emulator.errors import ApiError

NAME_PATTERN = "(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)"
"""RFC 1035 label, as Google quotes it in its refusals."""


def invalid_field(field: str, value: object, why: str) -> ApiError:
    """HTTP 400, reason `invalid`: a field of the resource holds what it may not."""
    return ApiError(400, f"Invalid value for field '{field}': '{value}'. {why}", reason="invalid")


def not_a_match(field: str, value: object, pattern: str) -> ApiError:
    """HTTP 400: a name or tag that does not have the form that Google asks for."""
    return invalid_field(field, value, f"Must be a match of regex '{pattern}'")


def required(field: str) -> ApiError:
    """HTTP 400, reason `required`: a field without which the resource means nothing."""
    return ApiError(400, f"Required field '{field}' not specified", reason="required")


def not_found(resource: str) -> ApiError:
    """HTTP 404 for a resource named as projects/P/..."""
    return ApiError(404, f"The resource '{resource}' was not found", reason="notFound")


def already_exists(resource: str) -> ApiError:
    """HTTP 409 for a name that is taken."""
    return ApiError(409, f"The resource '{resource}' already exists", reason="alreadyExists")


def in_use(kind: str, resource: str, user: str) -> ApiError:
    """HTTP 400: `resource` (a network, subnetwork, disk, ...) cannot go while `user` needs it."""
    return ApiError(
        400,
        f"The {kind} resource '{resource}' is already being used by '{user}'",
        reason="resourceInUseByAnotherResource",
    )


def not_ready(resource: str) -> ApiError:
    """HTTP 400: another operation is still making or changing the resource."""
    return ApiError(400, f"The resource '{resource}' is not ready", reason="resourceNotReady")


def fingerprint_mismatch(what: str = "Supplied fingerprint does not match current metadata fingerprint.") -> ApiError:
    """HTTP 412: somebody else changed the resource since it was read."""
    return ApiError(412, what, reason="conditionNotMet")
