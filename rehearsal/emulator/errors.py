"""Errors as Google's APIs word and shape them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

STATUS_BY_CODE = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    405: "UNIMPLEMENTED",
    409: "ALREADY_EXISTS",
    412: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
REASON_BY_CODE = {
    400: "invalid",
    401: "authError",
    403: "forbidden",
    404: "notFound",
    409: "alreadyExists",
    412: "conditionNotMet",
    429: "rateLimitExceeded",
    499: "cancelled",
    500: "internalError",
    501: "notImplemented",
    503: "backendError",
}
CANONICAL_CODES = {
    "CANCELLED": 1,
    "UNKNOWN": 2,
    "INVALID_ARGUMENT": 3,
    "DEADLINE_EXCEEDED": 4,
    "NOT_FOUND": 5,
    "ALREADY_EXISTS": 6,
    "PERMISSION_DENIED": 7,
    "RESOURCE_EXHAUSTED": 8,
    "FAILED_PRECONDITION": 9,
    "ABORTED": 10,
    "OUT_OF_RANGE": 11,
    "UNIMPLEMENTED": 12,
    "INTERNAL": 13,
    "UNAVAILABLE": 14,
    "DATA_LOSS": 15,
    "UNAUTHENTICATED": 16,
}
"""google.rpc.Code: what a long-running operation's `error.code` holds."""


class ApiError(Exception):
    """A request that is refused, or an operation that ended badly.

    `status` is the canonical name ("NOT_FOUND"), `reason` the short word of the errors list that
    Compute's clients read ("resourceInUseByAnotherResource"); both follow from the HTTP code if not given.
    """

    def __init__(
        self,
        http_code: int,
        message: str,
        *,
        status: str | None = None,
        reason: str | None = None,
        details: Sequence[Mapping[str, object]] = (),
    ) -> None:
        super().__init__(message)
        self.http_code = http_code
        self.message = message
        self.status = status or STATUS_BY_CODE.get(http_code, "UNKNOWN")
        self.reason = reason or REASON_BY_CODE.get(http_code, "badRequest")
        self.details = [dict(detail) for detail in details]

    @property
    def rpc_code(self) -> int:
        """The google.rpc.Code of this error."""
        return CANONICAL_CODES.get(self.status, 2)

    def body(self, service: str) -> dict[str, object]:
        """The JSON body as `service` ("compute", "tpu", ...) sends it."""
        error: dict[str, object] = {"code": self.http_code, "message": self.message}
        if service == "compute":
            error["errors"] = [{"message": self.message, "domain": "global", "reason": self.reason}]
            # Compute's front end words 401, 429 and 5xx like every other API, with a status.
            if self.http_code in {401, 403, 429, 501, 503}:
                error["status"] = self.status
        else:
            error["status"] = self.status
        if self.details:
            error["details"] = self.details
        return {"error": error}


def invalid(message: str, *, field: str | None = None, reason: str | None = None) -> ApiError:
    """400 INVALID_ARGUMENT; `field` adds the BadRequest detail that names the offending field."""
    details: list[dict[str, object]] = []
    if field is not None:
        details.append(
            {
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": [{"field": field, "description": message}],
            }
        )
    return ApiError(400, message, reason=reason, details=details)


def failed_precondition(message: str, *, reason: str | None = None) -> ApiError:
    """400 FAILED_PRECONDITION: the resource is not in a state in which this can be done."""
    return ApiError(400, message, status="FAILED_PRECONDITION", reason=reason or "failedPrecondition")


def not_found(message: str) -> ApiError:
    return ApiError(404, message)


def already_exists(message: str) -> ApiError:
    return ApiError(409, message)


def resource_exhausted(message: str) -> ApiError:
    """429: no quota; as an operation's error, code 8, also: no capacity."""
    return ApiError(429, message)


def unavailable(message: str = "The service is currently unavailable.") -> ApiError:
    return ApiError(503, message)


def unauthenticated(*, missing: bool) -> ApiError:
    """401 as Google's front end says it, for a missing or a wrong credential."""
    start = (
        "Request is missing required authentication credential."
        if missing
        else "Request had invalid authentication credentials."
    )
    return ApiError(
        401,
        f"{start} Expected OAuth 2 access token, login cookie or other valid authentication credential. "
        "See https://developers.google.com/identity/sign-in/web/devconsole-project.",
        details=[
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "CREDENTIALS_MISSING" if missing else "ACCESS_TOKEN_TYPE_UNSUPPORTED",
                "domain": "googleapis.com",
            }
        ],
    )
