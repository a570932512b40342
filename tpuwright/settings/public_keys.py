"""The public ssh keys of a login: read from files or taken as text. A private key is refused, and never shown."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from pathlib import Path

from tpuwright.settings.access import UserSettings
from tpuwright.settings.problems import Problem

# What sshd of the TPU images accepts; DSA went in OpenSSH 7.
_KINDS = (
    "ssh-ed25519",
    "ssh-rsa",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
)


@dataclass(frozen=True)
class Login:
    """A user with the text of its keys (``KIND BASE64 COMMENT`` each) and the files that they came from."""

    name: str
    keys: tuple[str, ...]
    key_files: tuple[str, ...]


def read_login(user: UserSettings, root: Path, path: str) -> tuple[Login, list[Problem]]:
    """Read every key of ``user``; files are relative to ``root``, the directory of Pulumi.yaml.

    ``path`` is the user's place in the settings (``access.users[0]``), for the messages.
    """
    keys: dict[str, None] = {}  # a dict, as the order is the user's and a key given twice counts once
    files: list[str] = []
    problems: list[Problem] = []
    for index, entry in enumerate(user.keys):
        place = f"{path}.keys[{index}]"
        if "PRIVATE KEY" in entry:
            problems.append(Problem(place, f"is a private key, which must never leave its machine: {_NAME_THE_PUB}"))
        elif entry.split(" ", 1)[0] in _KINDS or entry.startswith("ssh-dss "):
            found, why = _key(entry)
            problems += [Problem(place, why, entry)] if why else []
            keys |= dict.fromkeys(found)
        else:
            file = _resolve(entry, root)
            found, why = _keys_of_file(file)
            problems += [Problem(place, why, entry)] if why else []
            keys |= dict.fromkeys(found)
            files.append(str(file))
    return Login(user.name, tuple(keys), tuple(files)), problems


_NAME_THE_PUB = "name the public half, the file that ends in .pub"


def _resolve(entry: str, root: Path) -> Path:
    file = Path(entry).expanduser()
    return file if file.is_absolute() else root / file


def _keys_of_file(file: Path) -> tuple[list[str], str | None]:
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return [], (
            f"does not exist (looked for {file}), so nobody could log in: name your public key, "
            "or make one with 'ssh-keygen -t ed25519'"
        )
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        return [], f"cannot be read ({reason}): name the file of a public key, which ends in .pub"
    if "PRIVATE KEY" in text:
        return [], f"is a private key, which must never leave its machine: {_NAME_THE_PUB}"
    keys: list[str] = []
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            found, why = _key(line)
            if why:
                return [], why
            keys += found
    return keys, None if keys else "holds no key: name the file of a public key, which ends in .pub"


def _key(line: str) -> tuple[list[str], str | None]:
    """One line of an authorized_keys file without options; the kind inside of the key must be the one written."""
    fields = line.split(maxsplit=2)
    if len(fields) < 2 or fields[0] not in _KINDS:
        return [], f"is not a public key that the hosts accept: it begins with one of {', '.join(_KINDS[:3])} …"
    if _parts(fields[1])[:1] != [fields[0].encode()]:
        return [], "is cut off or mistyped: copy the whole line of the public key"
    return [" ".join(field.strip() for field in fields)], None


def _parts(encoded: str) -> list[bytes]:
    """The strings inside of a key (RFC 4253: each after its length), the first its kind; none of a damaged one."""
    try:
        rest = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        return []
    parts = []
    while rest:
        length = int.from_bytes(rest[:4], "big")
        part, rest = rest[4 : 4 + length], rest[4 + length :]
        if len(part) != length:
            return []
        parts.append(part)
    return parts if len(parts) > 1 else []
