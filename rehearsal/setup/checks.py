"""What `tpuwright doctor` asks about this machine: the steps of set-up, and room for a rehearsal."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import platformdirs
import psutil
import yaml
from docker.errors import DockerException

from rehearsal.environment import is_rehearsal, official_gcp_plugin
from rehearsal.hosts import ranges
from rehearsal.hosts.backend import HostsError, RangeCollision
from rehearsal.hosts.engine import connect
from rehearsal.hosts.labels import REHEARSAL
from rehearsal.paths import rehearsal_paths
from rehearsal.setup.docker_engine import DockerEngine
from rehearsal.setup.host_image import HostImage
from rehearsal.setup.pulumi import GcpPlugin, PulumiEngine
from rehearsal.setup.python_packages import differences
from rehearsal.setup.step import Step
from rehearsal.setup.system_tools import SshClient
from tpuwright.doctor.check import Check, Finding, failed, ok, warning
from tpuwright.project import stack_file

PORT = 8778
RANGE = "10.200.0.0/16"
_MEMORY_GB = 8
_DISK_GB = 6


def checks(stack: str | None, project: Path) -> list[Check]:
    """For every stack: packages, ssh, engine, plugin. For a rehearsal, or no stack: Docker, image, room and range."""
    rehearsing = stack is None or is_rehearsal(stack, project)
    found = [
        Check("Python packages", "the lock says which versions work together", _python_packages),
        _of_step(SshClient()),
        _of_step(PulumiEngine()),
        _of_step(GcpPlugin()) if rehearsing else Check(GcpPlugin.title, GcpPlugin.why, _official_plugin),
    ]
    if not rehearsing:
        return found
    docker = _of_step(DockerEngine())
    return [
        *found,
        docker,
        _of_step(HostImage(), after=(docker.name,)),
        Check("Address range", "this machine must route to the hosts", _range_check(stack, project), (docker.name,)),
        Check("Port", f"the embedded cloud listens on 127.0.0.1:{PORT}", _port),
        Check("Memory", "four hosts and JAX on them", _memory),
        Check("Disk", "the host image and what is installed on hosts", _disk),
    ]


def _of_step(step: Step, after: tuple[str, ...] = ()) -> Check:
    def look() -> Finding:
        found = step.look()
        return ok(found) if found else failed("missing", "make setup")

    return Check(step.title, step.why, look, after)


def _python_packages() -> Finding:
    missing = differences()
    return failed(f"not as locked: {', '.join(missing[:5])}", "make setup") if missing else ok("as locked")


def _official_plugin() -> Finding:
    official = official_gcp_plugin()
    if official is None:
        return failed(
            "the official plugin is not installed, and the rehearsals' stand-in refuses any real cloud",
            "`pulumi plugin install resource gcp`, on a machine that reaches get.pulumi.com or github.com",
        )
    return ok(f"the official one, {official}")


def _range_check(stack: str | None, project: Path) -> Callable[[], Finding]:
    def look() -> Finding:
        wanted = _wanted_range(stack, project)
        try:
            client = connect(timeout=10)
            networks = client.api.networks()
            info = client.info()
        except (HostsError, DockerException) as error:
            return failed(str(error), "make setup")
        # What this checkout's own rehearsal has up is the range in its right use; another clone's is not.
        own = rehearsal_paths().name
        theirs = [network for network in networks if (network.get("Labels") or {}).get(REHEARSAL) != own]
        ours = [network["Id"][:12] for network in networks if network not in theirs]
        routes = [use for use in ranges.route_uses() if not any(bridge in use.user for bridge in ours)]
        try:
            ranges.check_free("of the stack", wanted, [*ranges.docker_uses(theirs, info), *routes])
        except RangeCollision as error:
            what, _, remedy = str(error).partition(": ")
            return failed(what, remedy)
        return ok(f"{wanted} is free")

    return look


def _wanted_range(stack: str | None, project: Path) -> str:
    if stack is None:
        return RANGE
    try:
        document = yaml.safe_load(stack_file(project, stack).read_text(encoding="utf-8"))
        return str(document["config"]["tpuwright:network"]["ip_cidr_range"])
    except (OSError, KeyError, TypeError, yaml.YAMLError):
        return RANGE


def _port() -> Finding:
    cloud = _running_cloud()
    if cloud is not None:
        return ok(f"the embedded cloud runs at {cloud}")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", PORT))
        except OSError:
            return warning(
                f"another program listens on 127.0.0.1:{PORT}",
                f"end it (`ss -ltnp sport = :{PORT}` names it), or `tpuwright emulator start --port PORT`",
            )
    return ok("free")


def _running_cloud() -> str | None:
    try:
        state = json.loads(rehearsal_paths().daemon.read_text(encoding="utf-8"))
        return str(state["endpoint"]) if psutil.pid_exists(int(state["pid"])) else None
    except (OSError, ValueError, KeyError):
        return None


def _memory() -> Finding:
    free = psutil.virtual_memory().available / 1e9
    if free < _MEMORY_GB and _running_cloud() is None:
        return warning(f"{free:.1f} GB free; four hosts take up to {_MEMORY_GB} GB", "end what is not needed")
    return ok(f"{free:.1f} GB free")


def _disk() -> Finding:
    cache = platformdirs.user_cache_path("tpuwright")
    places = [place for place in (Path("/var/lib/docker"), cache, cache.parent, Path.home()) if place.exists()]
    free, place = min((shutil.disk_usage(place).free / 1e9, place) for place in places)
    if free < _DISK_GB:
        return warning(f"{free:.1f} GB free under {place}; a rehearsal takes {_DISK_GB} GB", "`docker system prune`")
    return ok(f"{free:.1f} GB free")
