"""Users and their keys as the metadata's ssh-keys say, in the manner of Google's guest agent."""

from __future__ import annotations

import datetime
import json
import pwd
import re
import subprocess
import sys
from pathlib import Path

from . import keys as authorized_keys
from . import metadata

SUDOERS_GROUP = "google-sudoers"
KNOWN_USERS = Path("/var/lib/google/google_users")
_USER_NAME = re.compile(r"[a-z_][a-z0-9_-]{0,31}\Z")
_ALWAYS_EXPIRED = datetime.datetime.strptime("1970-01-01T00:00:00+0000", "%Y-%m-%dT%H:%M:%S%z")


def desired_keys(tree: metadata.Tree, now: datetime.datetime) -> dict[str, list[str]]:
    """Login name -> key lines, from the whole metadata tree (as JSON); keys past their expireOn are left out."""
    lines = str(metadata.attributes_of(tree, "instance").get("ssh-keys", "")).splitlines()
    if not metadata.is_true(tree, "block-project-ssh-keys"):
        lines += str(metadata.attributes_of(tree, "project").get("ssh-keys", "")).splitlines()
    keys: dict[str, list[str]] = {}
    for line in lines:
        user, separator, key = line.strip().partition(":")
        if not separator or not _USER_NAME.match(user) or len(key.split()) < 2:
            continue
        expiry = expires(key)
        if expiry is not None and expiry <= now:
            continue
        of_user = keys.setdefault(user, [])
        if key not in of_user:
            of_user.append(key)
    return keys


def next_expiry(tree: metadata.Tree, now: datetime.datetime) -> datetime.datetime | None:
    """When the first of the keys that are valid at `now` runs out, or None."""
    found = [expires(key) for keys in desired_keys(tree, now).values() for key in keys]
    return min((moment for moment in found if moment is not None), default=None)


def expires(key: str) -> datetime.datetime | None:
    """The moment in a key's `google-ssh {"userName": ..., "expireOn": ...}` comment; None when it has none."""
    _, separator, comment = key.partition(" google-ssh ")
    if not separator:
        return None
    try:
        text = json.loads(comment)["expireOn"].replace("Z", "+0000")
        return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S%z")
    except (ValueError, KeyError, TypeError, AttributeError):
        # Google's agent as well takes a key whose comment it cannot read for expired.
        return _ALWAYS_EXPIRED


def apply(desired: dict[str, list[str]]) -> None:
    """Make the users of `desired`, give them sudo and their keys; take both from users no longer in it."""
    known = set(KNOWN_USERS.read_text().split()) if KNOWN_USERS.exists() else set()
    for user in sorted(known | set(desired)):
        keys = desired.get(user, [])
        if keys and not _exists(user):
            subprocess.run(["useradd", "--create-home", "--shell", "/bin/bash", user], check=True)
            print(f"made user {user}", flush=True)
        if not _exists(user):
            continue
        if keys and user not in known:
            subprocess.run(["gpasswd", "--add", user, SUDOERS_GROUP], check=True, stdout=subprocess.DEVNULL)
        elif not keys:
            # The account and its files stay, as on Google; only the ways in and up go.
            subprocess.run(["gpasswd", "--delete", user, SUDOERS_GROUP], check=False, capture_output=True)
            print(f"took keys and sudo from user {user}", flush=True)
        _write_keys(user, keys)
    KNOWN_USERS.parent.mkdir(parents=True, exist_ok=True)
    KNOWN_USERS.write_text("".join(user + "\n" for user in sorted(desired)))


def _write_keys(user: str, keys: list[str]) -> None:
    entry = pwd.getpwnam(user)
    subprocess.run(
        [sys.executable, authorized_keys.__file__],
        input=json.dumps(keys),
        text=True,
        check=True,
        user=entry.pw_uid,
        group=entry.pw_gid,
        extra_groups=[],
        cwd="/",
        env={"HOME": entry.pw_dir, "PATH": "/usr/bin:/bin"},
    )


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True
