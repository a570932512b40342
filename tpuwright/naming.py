"""Which names Google accepts, and the names that a stack gives to what it makes.

Each ``*_problem`` returns None for a good name, else the end of a sentence that begins with the name:
what is wrong and what to write. Sources: https://cloud.google.com/compute/docs/naming-resources,
https://cloud.google.com/compute/docs/labeling-resources, https://cloud.google.com/iam/docs/service-accounts-create,
https://cloud.google.com/resource-manager/docs/creating-managing-projects; useradd(8) for logins.
"""

from __future__ import annotations

import hashlib
import re

RESOURCE_NAME_LIMIT = 63
SERVICE_ACCOUNT_ID_LIMIT = 30

_RESOURCE = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_PROJECT = re.compile(r"([a-z0-9.-]+:)?[a-z][-a-z0-9]{4,28}[a-z0-9]")
_ZONE = re.compile(r"[a-z]+-[a-z]+[0-9]+-[a-z0-9]+")
_LOGIN = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
_ENVIRONMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Names that a TPU image or Google's agents already use; a login of that name would get their rights or lose ours.
_TAKEN_LOGINS = frozenset(
    (
        *("root", "daemon", "bin", "sys", "sync", "games", "man", "lp", "mail", "news", "uucp", "proxy", "www-data"),
        *("backup", "list", "irc", "nobody", "sshd", "syslog", "messagebus", "systemd-network", "systemd-resolve"),
        *("systemd-timesync", "ubuntu", "admin", "sudo", "docker", "google-sudoers", "tpu-runtime"),
    )
)


def resource_name_problem(name: str) -> str | None:
    """For networks, instances, nodes and their like."""
    if len(name) > RESOURCE_NAME_LIMIT:
        return f"has {len(name)} characters, and Google takes at most {RESOURCE_NAME_LIMIT}: shorten it"
    if not _RESOURCE.fullmatch(name):
        return (
            "is a name that Google refuses: write lower-case letters, digits and hyphens, "
            f"beginning with a letter and ending with a letter or digit, such as '{slug(name)}'"
        )
    return None


def pod_name_problem(name: str) -> str | None:
    """A pod's name is also part of host names (NAME-w0) and, later, of slices (NAME-s1-w0)."""
    problem = resource_name_problem(name)
    if problem:
        return problem
    if re.search(r"-s[0-9]+$", name):
        return "ends like the number of a slice, so its hosts could be taken for another pod's: choose another"
    if len(name) > 40:
        return f"has {len(name)} characters, and hosts are named after the pod: choose at most 40"
    return None


def project_problem(name: str) -> str | None:
    if _PROJECT.fullmatch(name):
        return None
    return (
        "is not a project ID (6 to 30 lower-case letters, digits and hyphens; not the number nor the title): "
        "'gcloud projects list' shows it in the column PROJECT_ID"
    )


def zone_problem(name: str) -> str | None:
    if _ZONE.fullmatch(name):
        return None
    if re.fullmatch(r"[a-z]+-[a-z]+[0-9]+", name):
        return f"is a region, and a pod lives in a zone: add its letter, such as '{name}-a'"
    return "is not the name of a zone: write one such as 'us-west4-a'"


def region_of(zone: str) -> str:
    """``us-west4`` of ``us-west4-a``."""
    return zone.rpartition("-")[0]


def login_problem(name: str) -> str | None:
    if not _LOGIN.fullmatch(name):
        return (
            "is not a login that Linux and Google's guest agent accept: write at most 32 lower-case letters, "
            f"digits, '-' and '_', beginning with a letter, such as '{_login_slug(name)}'"
        )
    if name in _TAKEN_LOGINS:
        return "is an account that the hosts already have for themselves: choose another name"
    return None


def label_key_problem(key: str) -> str | None:
    if not key or len(key) > 63 or not (key[0].isalpha() and _label_characters(key)):
        return (
            "is a label key that Google refuses: write 1 to 63 lower-case letters, digits, '-' and '_', "
            "beginning with a letter"
        )
    if key.startswith(("tpuwright-", "goog-")):
        return f"begins with '{key.split('-')[0]}-', which marks labels that are set for you: choose another key"
    return None


def label_value_problem(value: str) -> str | None:
    if len(value) > 63 or not _label_characters(value):
        return (
            "is a label value that Google refuses: write at most 63 lower-case letters, digits, '-' and '_', "
            f"such as '{label_value(value)}'"
        )
    return None


def environment_name_problem(name: str) -> str | None:
    if _ENVIRONMENT.fullmatch(name):
        return None
    return "is not the name of an environment variable: write letters, digits and '_', not beginning with a digit"


def slug(text: str) -> str:
    """The nearest name that Google accepts, however odd the text; not unique."""
    cleaned = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return cleaned if cleaned[:1].isalpha() else f"x-{cleaned}".rstrip("-")


def label_value(text: str) -> str:
    """The nearest label value that Google accepts, at most 63 characters."""
    return re.sub(r"[^a-z0-9_-]+", "-", text.lower())[:63]


def name_of(*parts: str, limit: int = RESOURCE_NAME_LIMIT) -> str:
    """The parts joined by hyphens, as Google accepts them.

    What had to be changed (letters, length) is made unique again by eight characters of a hash, so that two
    stacks whose names differ never share a resource.
    """
    wanted = "-".join(parts)
    name = slug(wanted)
    if name == wanted and len(name) <= limit:
        return name
    mark = hashlib.sha256(wanted.encode()).hexdigest()[:8]
    return f"{name[: limit - len(mark) - 1].rstrip('-')}-{mark}"


def _label_characters(text: str) -> bool:
    return all(character in "-_" or (character.isalnum() and character == character.lower()) for character in text)


def _login_slug(name: str) -> str:
    return re.sub(r"[^a-z0-9_-]+", "-", name.split("@")[0].lower()).strip("-")[:32] or "researcher"
