"""Checks of Pulumi's side of a stack: settings, backend, secrets provider."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tpuwright.doctor.check import Check, Finding, failed, ok
from tpuwright.doctor.stack_configuration import StackConfiguration, read_configuration
from tpuwright.errors import TpuwrightError
from tpuwright.pulumi_engine import find_engine, pinned_version
from tpuwright.settings.loading import load
from tpuwright.settings.problems import SettingsError

SETTINGS = "Settings"
BACKEND = "Pulumi backend"
SECRETS = "Secrets provider"

_ANSWER_SECONDS = 30
_PULUMI_CLOUD = "https://app.pulumi.com"


def pulumi_checks(stack: str, project: Path) -> list[Check]:
    """Settings, backend and secrets provider of `stack`."""
    return [
        Check(SETTINGS, "every command reads them", lambda: _settings(stack, project)),
        Check(BACKEND, "it keeps the stack's state", lambda: _backend(project)),
        Check(
            SECRETS, "it encrypts what is secret in the state", lambda: _secrets(stack, project), (SETTINGS, BACKEND)
        ),
    ]


def backend_url(project: Path) -> str:
    """Where Pulumi keeps state now.

    Raises:
        TpuwrightError: there is no engine, or it is logged in nowhere.
    """
    engine = find_engine()
    if engine is None:
        raise TpuwrightError(f"There is no Pulumi engine {pinned_version()} here: run `make setup`.")
    try:
        answer = subprocess.run(
            [str(engine), "whoami", "--json", "--non-interactive"],
            cwd=project,
            env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"},
            capture_output=True,
            text=True,
            timeout=_ANSWER_SECONDS,
            stdin=subprocess.DEVNULL,
            check=True,
        )
        return str(json.loads(answer.stdout)["url"])
    except subprocess.TimeoutExpired:
        raise TpuwrightError(
            f"Pulumi's backend did not answer in {_ANSWER_SECONDS} s: check the network, or PULUMI_BACKEND_URL."
        ) from None
    except (subprocess.CalledProcessError, ValueError, KeyError) as error:
        said = " ".join(getattr(error, "stderr", str(error)).split()) or "nothing"
        raise TpuwrightError(
            f"Pulumi is logged in to no backend (it says {said!r}): run `pulumi login gs://BUCKET`, `pulumi login` "
            "for Pulumi Cloud, or `pulumi login file://DIRECTORY`."
        ) from error


def _settings(stack: str, project: Path) -> Finding:
    configuration = read_configuration(project, stack)
    try:
        settings = load(configuration.config, project)
    except SettingsError as error:
        return failed(str(error), f"correct {configuration.file.name}")
    pods = ", ".join(f"{pod.name} ({pod.accelerator_type} in {' or '.join(pod.zones)})" for pod in settings.pods)
    return ok(f"{configuration.file.name}: project {settings.gcp.project}, {pods}")


def _backend(project: Path) -> Finding:
    return ok(backend_url(project))


def _secrets(stack: str, project: Path) -> Finding:
    return secrets_finding(read_configuration(project, stack), backend_url(project))


def secrets_finding(configuration: StackConfiguration, backend: str) -> Finding:
    """Which provider encrypts this stack's secrets, and whether what it needs is there."""
    provider = str(configuration.document.get("secretsprovider") or "")
    if provider and provider not in ("passphrase", "default"):
        return ok(provider.partition("?")[0])
    with_passphrase = provider == "passphrase" or "encryptionsalt" in configuration.document
    if backend.startswith(_PULUMI_CLOUD) and not with_passphrase:
        return ok("Pulumi Cloud's own")
    file = os.environ.get("PULUMI_CONFIG_PASSPHRASE_FILE")
    if "PULUMI_CONFIG_PASSPHRASE" in os.environ:
        return ok("a passphrase, from PULUMI_CONFIG_PASSPHRASE")
    if file and Path(file).is_file():
        return ok(f"a passphrase, from {file}")
    missing = f"PULUMI_CONFIG_PASSPHRASE_FILE names {file}, which does not exist" if file else "no passphrase is set"
    return failed(
        f"secrets are encrypted with a passphrase, and {missing}",
        "set PULUMI_CONFIG_PASSPHRASE_FILE to a file that holds it, or change to a key of Google's with "
        "`pulumi stack change-secrets-provider gcpkms://…`",
    )
