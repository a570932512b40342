"""Service accounts as they are stored, and which accounts exist; used by every service."""

from __future__ import annotations

import re

from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.handlers import Json

KIND = "iam.serviceAccount"
DELETED = "iam.deletedServiceAccount"


def name_of(cloud: Cloud, email: str) -> str:
    """projects/P/serviceAccounts/EMAIL."""
    return f"projects/{cloud.project}/serviceAccounts/{email}"


def email_of(cloud: Cloud, account_id: str) -> str:
    """The mail of an account of this project, by its id."""
    return f"{account_id}@{cloud.project}.iam.gserviceaccount.com"


def default_account(cloud: Cloud) -> str:
    """Compute Engine's default service account, which is there from the start."""
    return f"{cloud.project_number}-compute@developer.gserviceaccount.com"


def find(cloud: Cloud, account: str) -> tuple[str, Json] | None:
    """(full name, document) of an account given by its mail or its unique id."""
    for name, document in cloud.store.list(KIND):
        if account in (document["email"], document["uniqueId"]):
            return name, document
    return None


def exists(cloud: Cloud, email: str) -> bool:
    """Whether a service account can be bound or run a machine: of this project, or one of Google's agents."""
    number = re.escape(cloud.project_number)
    agents = (
        rf"{number}-compute@developer\.gserviceaccount\.com"
        rf"|{number}@cloudservices\.gserviceaccount\.com"
        rf"|service-{number}@[a-z0-9-]+\.iam\.gserviceaccount\.com"
    )
    return re.fullmatch(agents, email) is not None or find(cloud, email) is not None
