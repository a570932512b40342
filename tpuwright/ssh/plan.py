"""Who connects to what, and how: the data from which ssh_config and known_hosts are written."""

from __future__ import annotations

import hashlib
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from tpuwright.cloud.hostkeys import HostKey
from tpuwright.errors import TpuwrightError
from tpuwright.live import StackNow
from tpuwright.outputs import StackOutputs, UserOutput
from tpuwright.project import stack_name


@dataclass(frozen=True)
class Forward:
    """A port of the host's own loopback that appears as ``local`` on this machine's."""

    local: int
    remote: int


@dataclass(frozen=True)
class Target:
    """One machine: ``aliases`` are the names that ssh knows it by, ``key_alias`` its name in known_hosts.

    ``proxy_command`` (the bastion) and ``jump`` (a host behind it) exclude each other.
    """

    aliases: tuple[str, ...]
    address: str
    key_alias: str
    keys: tuple[HostKey, ...]
    jump: str | None = None
    proxy_command: str | None = None
    forwards: tuple[Forward, ...] = ()

    @property
    def keys_digest(self) -> str:
        """Changes when the machine was made anew, so that a connection to the old one is never shared."""
        text = "\n".join(f"{key.algorithm} {key.key}" for key in self.keys)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Plan:
    """All machines of a stack that ``user`` may connect to; ``left_out`` names those whose keys are not known."""

    stack: str
    user: str
    identities: tuple[Path, ...]
    targets: tuple[Target, ...]
    left_out: tuple[str, ...] = ()


def control_directory() -> Path:
    """Where shared connections have their sockets; short, as a socket's path may have 107 characters."""
    return platformdirs.user_cache_path("tpuwright") / "ssh"


def bastion_alias(stack: str) -> str:
    """The name of the stack's bastion in ssh configurations."""
    return f"{stack_name(stack)}-bastion"


def private_keys(user: UserOutput, project: Path) -> list[Path]:
    """The private halves, on this machine, of the user's public key files."""
    found = []
    for name in user.key_files:
        public = project / Path(name).expanduser()
        private = public.with_suffix("") if public.suffix == ".pub" else public
        if private != public and private.is_file():
            found.append(private.resolve())
    return found


def choose_user(outputs: StackOutputs, name: str | None) -> UserOutput:
    """The user ``name``, or the stack's first; raises ``TpuwrightError`` when there is none of that name."""
    users = outputs.access.users
    for user in users:
        if name in (None, user.name):
            return user
    known = ", ".join(user.name for user in users)
    raise TpuwrightError(
        f"The stack has no user {name!r} (it has {known}): add it to tpuwright:access and run `pulumi up`."
    )


def build(
    stack: str,
    outputs: StackOutputs,
    now: StackNow,
    project: Path,
    user: str | None = None,
    forwards: Sequence[int] = (),
) -> Plan:
    """The plan for ``stack``; machines without published keys are left out, as nobody may be trusted blindly.

    ``forwards`` are ports of worker 0; the n-th pod's appear n ports higher on this machine.
    """
    login = choose_user(outputs, user)
    short = stack_name(stack)
    targets: list[Target] = []
    left_out: list[str] = []
    jump = None
    bastion = outputs.access.bastion
    if bastion:
        jump = bastion_alias(stack)
        target = Target(
            aliases=(jump,),
            address=bastion.name,
            key_alias=f"tpuwright-{short}-bastion",
            keys=now.bastion_keys,
            proxy_command=proxy_command(outputs),
        )
        (targets.append(target) if target.keys else left_out.append(bastion.name))
    for number, pod in enumerate(now.pods.values()):
        for host in pod.hosts:
            address = host.internal_ip if jump else host.external_ip or host.internal_ip
            if not host.keys:
                left_out.append(host.name)
                continue
            first = host is pod.hosts[0]
            targets.append(
                Target(
                    aliases=(host.name,),
                    address=_safe(address),
                    key_alias=f"tpuwright-{short}-{host.name}",
                    keys=host.keys,
                    jump=jump,
                    forwards=tuple(Forward(port + number, port) for port in forwards) if first else (),
                )
            )
    return Plan(stack, login.name, tuple(private_keys(login, project)), tuple(targets), tuple(left_out))


def proxy_command(outputs: StackOutputs) -> str:
    """The command that reaches the bastion's port %p through IAP, for ssh's ProxyCommand."""
    bastion = outputs.access.bastion
    if bastion is None:
        raise TpuwrightError("The stack has no bastion: tpuwright:access has mode direct.")
    # The module, not the `tpuwright` command: it starts once for each ssh, and this starts in half the time.
    words = [sys.executable, "-m", "tpuwright.iap", bastion.name]
    options = ["--project", outputs.cloud.project, "--zone", bastion.zone, "--url", outputs.cloud.iap_endpoint]
    quoted = [shlex.quote(word).replace("%", "%%") for word in (*words, *options)]
    return " ".join([*quoted[:4], "%p", *quoted[4:]])


def _safe(address: str) -> str:
    if not re.fullmatch(r"[0-9A-Fa-f.:]+", address):
        raise TpuwrightError(f"The API gave {address!r} as a host's address, which is none: run `pulumi refresh`.")
    return address
