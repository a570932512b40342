"""Every error of Google's API as one plain sentence with what to do next.

The same table reads an API answer, an operation's error and the output of the Pulumi engine, because the official
provider passes Google's words through. The raw answer goes to the log, never to the user.
"""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from tpuwright.errors import TpuwrightError

logger = logging.getLogger(__name__)

Kind = Literal[
    "no_capacity",
    "no_reserved_capacity",
    "quota",
    "rate",
    "permission",
    "api_disabled",
    "billing",
    "credentials_missing",
    "credentials_expired",
    "not_found",
    "exists",
    "busy",
    "unavailable",
    "network",
    "tls",
    "other",
]

#: Kinds that a later attempt can cure without anybody doing anything.
TRANSIENT: Final[frozenset[Kind]] = frozenset({"rate", "unavailable"})


class CloudError(TpuwrightError):
    """An error of the cloud. ``str()`` is one sentence for people; ``raw`` is what Google said."""

    def __init__(self, kind: Kind, sentence: str, raw: str = "") -> None:
        """Keep the sentence, and send the raw answer to the log."""
        super().__init__(sentence)
        self.kind: Kind = kind
        self.sentence = sentence
        self.raw = raw
        if raw:
            logger.debug("%s: %s", kind, raw)


@dataclass(frozen=True)
class _Rule:
    kind: Kind
    pattern: re.Pattern[str]
    sentence: Callable[[re.Match[str]], str]


def _rule(kind: Kind, pattern: str, sentence: str | Callable[[re.Match[str]], str]) -> _Rule:
    def say(match: re.Match[str]) -> str:
        if callable(sentence):
            return sentence(match)
        return sentence.format(**{k: (v or "").strip() for k, v in match.groupdict().items()})

    return _Rule(kind, re.compile(pattern, re.IGNORECASE | re.DOTALL), say)


def _no_capacity(match: re.Match[str]) -> str:
    zone = match.groupdict().get("zone")
    place = f"zone {zone}" if zone else "this zone"
    return (
        f"There is no free capacity for this accelerator in {place} right now: try again later, "
        "name another zone in tpuwright:pods[].zones, or try the other provisioning_model (standard, spot)."
    )


def _api_disabled(match: re.Match[str]) -> str:
    found = match.groupdict()
    service = found.get("service") or _service_of(found.get("title") or "")
    command = f"gcloud services enable {service}" + (f" --project {found['project']}" if found.get("project") else "")
    return f"The API {service} is not enabled in this project: run `{command}`, wait a minute and try again."


def _service_of(title: str) -> str:
    names = {
        "cloud tpu": "tpu",
        "compute engine": "compute",
        "identity and access management": "iam",
        "cloud resource manager": "cloudresourcemanager",
        "service usage": "serviceusage",
    }
    short = next((name for words, name in names.items() if words in title.lower()), title.lower().replace(" ", ""))
    return f"{short}.googleapis.com"


_TOO_FAST: Final = (
    "Google is refusing requests because too many came in a short time: wait a minute and run the same command again."
)

# Most telling first: a rate limit also says "quota exceeded", a disabled API is also a 403.
_RULES: Final[tuple[_Rule, ...]] = (
    _rule(
        "no_reserved_capacity",
        r"insufficient reserved capacity",
        "The reservation has no free capacity for this accelerator: free a pod that uses it, or check that the pod's "
        "reservation and accelerator_type are the ones that were reserved.",
    ),
    _rule(
        "no_capacity",
        r"(?:no more capacity in the zone|ZONE_RESOURCE_POOL_EXHAUSTED|does not have enough resources available)"
        r"(?:[^\n]{0,80}?\"?(?P<zone>[a-z]+-[a-z]+\d-[a-z0-9]+))?",
        _no_capacity,
    ),
    _rule(
        "rate",
        r"RATE_LIMIT_EXCEEDED|rateLimitExceeded|quota metric '[^']*' and limit '[^']*per (?:minute|second|day)"
        r"|\bToo Many Requests\b",
        _TOO_FAST,
    ),
    _rule(
        "quota",
        r"(?:Quota limit|Quota) '(?P<quota>[\w./-]+)' (?:has been )?exceeded"
        r"(?:[^\n]{0,40}?Limit:? (?P<limit>[\d.]+))?",
        lambda m: (
            f"The project's quota {m['quota']} is used up"
            + (f" (limit {m['limit']})" if m["limit"] else "")
            + ": delete what is not needed (also FAILED and SUSPENDED queued requests and PREEMPTED nodes, which keep "
            "their quota), or ask for more at https://console.cloud.google.com/iam-admin/quotas."
        ),
    ),
    _rule(
        "api_disabled",
        r"(?P<title>[A-Z][\w ()-]*?) has not been used in project (?P<project>[\w:.-]+) before or it is disabled",
        _api_disabled,
    ),
    _rule(
        "api_disabled",
        r"(?:SERVICE_DISABLED|accessNotConfigured)(?:.{0,300}?(?P<service>[a-z]+\.googleapis\.com))?",
        lambda m: (
            _api_disabled(m)
            if m["service"]
            else "An API that is needed is not enabled in this project: run `tpuwright doctor`, which names it."
        ),
    ),
    _rule(
        "billing",
        r"BILLING_DISABLED|billing (?:account|to be enabled)|billing is disabled",
        "Billing is not enabled for this project: link a billing account at "
        "https://console.cloud.google.com/billing/projects and try again.",
    ),
    _rule(
        "permission",
        r"Required '(?P<permission>[\w.]+)' permission for '(?P<resource>[^']+)'",
        "You may not do this: permission {permission} on {resource} is missing; ask an owner of the project for a "
        "role that has it (`tpuwright doctor` lists the roles needed).",
    ),
    _rule(
        "permission",
        r"Permission '(?P<permission>[\w.]+)' denied on (?:resource )?'(?P<resource>[^']+)'",
        "You may not do this: permission {permission} on {resource} is missing; ask an owner of the project for a "
        "role that has it (`tpuwright doctor` lists the roles needed).",
    ),
    _rule(
        "credentials_missing",
        r"could not find default credentials|default credentials were not found|DefaultCredentialsError"
        r"|missing required authentication credential",
        "No Google credentials were found: run `gcloud auth application-default login`, or for a rehearsal "
        '`eval "$(tpuwright env rehearsal)"`.',
    ),
    _rule(
        "credentials_expired",
        r"invalid_grant|Reauthentication is needed|invalid authentication credentials|\bInvalid Credentials\b"
        r"|Error 401\b|\bUNAUTHENTICATED\b|RefreshError",
        "Google does not accept the credentials (expired or revoked): run `gcloud auth application-default login`, "
        'or for a rehearsal `eval "$(tpuwright env rehearsal)"`.',
    ),
    _rule(
        "permission",
        r"\bPERMISSION_DENIED\b|Error 403\b|The caller does not have permission",
        "You may not do this in this project: run `tpuwright doctor`, which lists the roles that are needed, and ask "
        "an owner of the project for the missing ones.",
    ),
    _rule(
        "busy",
        r"resourceInUseByAnotherResource|is already being used by '(?P<user>[^']+)'",
        lambda m: (
            "The resource cannot be deleted because "
            + (f"{m['user']} still uses it" if m["user"] else "another resource still uses it")
            + ": delete that first (`pulumi destroy` does so for what this stack made)."
        ),
    ),
    _rule(
        "exists",
        r"(?:resource )?'?(?P<name>projects/[\w./:-]+)'? already exists",
        "{name} exists already and is not in this stack's state: run `tpuwright recover`, which adopts what an "
        "interrupted `pulumi up` left, or delete it if nothing else uses it.",
    ),
    _rule(
        "exists",
        r"Error 409\b|\bALREADY_EXISTS\b|\balreadyExists\b",
        "A resource of that name exists already and is not in this stack's state: run `tpuwright recover`, which "
        "adopts what an interrupted `pulumi up` left, or choose another name.",
    ),
    _rule(
        "not_found",
        r"(?:resource )?'?(?P<name>projects/[\w./:-]+?)'? (?:was |is |does )?(?:not found|not exist)",
        "{name} does not exist (any more): run `pulumi refresh` so that the stack knows, then `pulumi up`.",
    ),
    _rule(
        "not_found",
        r"Error 404\b|\bNOT_FOUND\b|\bnotFound\b",
        "Google does not know this resource (any more): run `pulumi refresh` so that the stack knows, then "
        "`pulumi up`.",
    ),
    _rule(
        "tls",
        r"CERTIFICATE_VERIFY_FAILED|x509: certificate",
        "The server's certificate is not trusted by this machine: behind a company's proxy, point SSL_CERT_FILE and "
        "HTTPLIB2_CA_CERTS at its CA bundle and try again.",
    ),
    _rule(
        "network",
        r"Connection refused|Unable to find the server|Name or service not known|no such host|connection reset"
        r"|network is unreachable|timed out|i/o timeout|Temporary failure in name resolution",
        "The API cannot be reached from this machine: check the network and proxy settings, and for a rehearsal that "
        "`tpuwright emulator status` says it runs.",
    ),
    _rule(
        "unavailable",
        r"Error 5\d\d\b|\bbackendError\b|\bUNAVAILABLE\b|\binternalError\b",
        "Google's API has trouble of its own right now: wait a few minutes and run the same command again.",
    ),
    _rule(
        "quota",
        r"quota.{0,300}(?:RESOURCE_EXHAUSTED|exceeded|Error 429)|(?:RESOURCE_EXHAUSTED|Error 429).{0,300}quota"
        r"|quotaExceeded",
        "A quota of the project is used up: run `tpuwright doctor`, which lists the TPU quota, delete what is not "
        "needed, or ask for more at https://console.cloud.google.com/iam-admin/quotas.",
    ),
    _rule(
        "rate",
        r"Error 429\b",
        _TOO_FAST,
    ),
    _rule("no_capacity", r"\bRESOURCE_EXHAUSTED\b|(?:error )?code\W{1,3}8\b", _no_capacity),
)


def recognise(text: str) -> tuple[Kind, str] | None:
    """The kind and the sentence for the first rule that fits ``text``, or None when no rule does."""
    for rule in _RULES:
        match = rule.pattern.search(text)
        if match:
            return rule.kind, rule.sentence(match)
    return None


def explain(text: str) -> str | None:
    """One sentence for an error in the output of a provider, the engine or a client; None when there is none.

    Meant for text that is known to come from something that failed.
    """
    found = recognise(text)
    return found[1] if found else None


def from_text(text: str, asked: str) -> CloudError:
    """A ``CloudError`` for ``text``; ``asked`` says what was wanted ("the state of node pod")."""
    found = recognise(text)
    if found:
        kind, sentence = found
        return CloudError(kind, f"Asking for {asked} failed. {sentence}", text)
    words = re.sub(r"\s+", " ", text).strip()[:300] or "no reason given"
    return CloudError("other", f"Asking for {asked} failed, and Google says: {words}", text)
