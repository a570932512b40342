"""What a shell needs to work on a rehearsal: the embedded cloud's endpoint and token, and stand-ins where needed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from rehearsal.lifecycle.rehearsal_stack import ensure_passphrase
from rehearsal.paths import RehearsalPaths, rehearsal_paths
from tpuwright.errors import TpuwrightError
from tpuwright.project import stack_file, stack_name
from tpuwright.pulumi_engine import find_engine

STACK = "rehearsal"
PROJECT = "tpuwright-rehearsal"

_PACKAGE = Path(__file__).resolve().parent
PROVIDER_DIRECTORY = _PACKAGE / "provider" / "bin"
LANGUAGE_HOST_DIRECTORY = _PACKAGE / "engine" / "bin"

# The services whose endpoint gcloud is told; it adds the path of each API by itself.
_GCLOUD_SERVICES = ("TPU", "COMPUTE", "IAM", "CLOUDRESOURCEMANAGER", "SERVICEUSAGE")


def environment(stack: str, project: Path) -> Mapping[str, str] | None:
    """The variables of a rehearsal stack, PATH among them; None for any other stack.

    Raises:
        TpuwrightError: it is a rehearsal stack, and the embedded cloud has never run here.
    """
    if not is_rehearsal(stack, project):
        return None
    paths = rehearsal_paths()
    cloud = _cloud(paths, stack)
    # Pulumi makes neither by itself; after `tpuwright emulator start` alone, nobody else has.
    paths.backend.mkdir(exist_ok=True)
    ensure_passphrase(paths)
    token = paths.token.read_text(encoding="utf-8").strip()
    endpoint = str(cloud["endpoint"]).rstrip("/") + "/"
    return {
        "PATH": os.pathsep.join(map(str, stand_ins())),
        "PULUMI_BACKEND_URL": paths.backend.as_uri(),
        "PULUMI_CONFIG_PASSPHRASE_FILE": str(paths.passphrase),
        "GOOGLE_OAUTH_ACCESS_TOKEN": token,
        "CLOUDSDK_CORE_PROJECT": str(cloud["project"]),
        "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE": str(paths.token),
        **{f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{service}": endpoint for service in _GCLOUD_SERVICES},
    }


def is_rehearsal(stack: str, project: Path) -> bool:
    """Whether a stack lives in the embedded cloud: by its name, or by the project that its settings name."""
    if stack_name(stack) == STACK:
        return True
    try:
        document = yaml.safe_load(stack_file(project, stack).read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError):
        return False
    config = document.get("config") if isinstance(document, dict) else None
    return isinstance(config, dict) and config.get("gcp:project") == PROJECT


def stand_ins() -> list[Path]:
    """Directories with our stand-ins for what is not to be had here; one on PATH would win over the official one."""
    needed = []
    if official_gcp_plugin() is None:
        needed.append(PROVIDER_DIRECTORY)
    if official_language_host() is None:
        needed.append(LANGUAGE_HOST_DIRECTORY)
    return needed


def official_gcp_plugin() -> Path | None:
    """The official gcp plugin of the pinned version where the engine keeps plugins, or any on PATH that is not ours."""
    installed = _plugins() / f"resource-gcp-v{version('pulumi-gcp')}" / "pulumi-resource-gcp"
    if os.access(installed, os.X_OK):
        return installed
    return _on_path_elsewhere("pulumi-resource-gcp", PROVIDER_DIRECTORY)


def official_language_host() -> Path | None:
    """Pulumi's own language host for Python: beside the engine, among its plugins, or on PATH."""
    engine = find_engine()
    if engine is not None and os.access(beside := engine.with_name("pulumi-language-python"), os.X_OK):
        return beside
    return _on_path_elsewhere("pulumi-language-python", LANGUAGE_HOST_DIRECTORY)


def _plugins() -> Path:
    home = os.environ.get("PULUMI_HOME")
    return (Path(home).expanduser() if home else Path.home() / ".pulumi") / "plugins"


def _on_path_elsewhere(program: str, ours: Path) -> Path | None:
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    elsewhere = [entry for entry in entries if entry and Path(entry).resolve() != ours]
    found = shutil.which(program, path=os.pathsep.join(elsewhere)) if elsewhere else None
    return Path(found) if found else None


def _cloud(paths: RehearsalPaths, stack: str) -> dict[str, Any]:
    try:
        cloud: dict[str, Any] = json.loads(paths.daemon.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TpuwrightError(
            f"The stack {stack!r} is a rehearsal, and no embedded cloud has run here ({paths.daemon} is missing): "
            "run `make rehearse`, or `tpuwright emulator start`."
        ) from None
    return cloud
