"""Settings from a stack's configuration, with every problem found at once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from tpuwright.settings import relations
from tpuwright.settings.access import AccessSettings
from tpuwright.settings.model import GcpSettings, NetworkSettings, Settings
from tpuwright.settings.pod import PodSettings
from tpuwright.settings.problems import Problem, SettingsError, findings, nearest_key, problems_of
from tpuwright.settings.public_keys import Login, read_login

NAMESPACE = "tpuwright"

_Model = TypeVar("_Model", bound=BaseModel)


def load(config: Mapping[str, str], root: Path) -> Settings:
    """The settings of a stack.

    ``config`` is Pulumi's: ``namespace:key`` to a string, which is JSON for lists and mappings. ``root`` is the
    directory of Pulumi.yaml; files in settings are relative to it. Raises SettingsError with every problem.
    """
    problems: list[Problem] = []
    document = _document(config)
    known = [name for name in Settings.model_fields if name != "gcp"]
    problems += [Problem(key, nearest_key(key, known)) for key in document if key not in known]

    gcp = _section(GcpSettings, _gcp_keys(config), "gcp:", problems)
    pods = _pods(document, problems)
    network = _section(NetworkSettings, document.get("network", {}), "network", problems)
    access = _access(document, problems)
    rest = {key: value for key, value in document.items() if key in known and key not in _ONE_BY_ONE}
    problems += _problems_of_rest(rest)

    if pods:
        problems += relations.same_names(pods)
        problems += relations.too_many_labels(pods, _mapping(document.get("labels")))
        problems += relations.small_subnets(pods, network, access) if network else []
    if access:
        problems += relations.same_logins(access)
        problems += read_logins(access, root)[1]
    problems += _missing_ca_bundle(document, root)
    if problems or gcp is None or access is None:
        raise SettingsError(problems)
    return _validate(Settings, {**document, "gcp": gcp.model_dump()})


def read_logins(access: AccessSettings, root: Path) -> tuple[list[Login], list[Problem]]:
    """Every login with its keys; the problems are empty after ``load``, unless a file has changed since."""
    logins: list[Login] = []
    problems: list[Problem] = []
    for index, user in enumerate(access.users):
        login, found = read_login(user, root, f"access.users[{index}]")
        logins.append(login)
        problems += found
    return logins, problems


def ca_bundle_of(settings: Settings, root: Path) -> str | None:
    """The absolute path of packages.ca_bundle."""
    bundle = settings.packages.ca_bundle
    return str(root / Path(bundle).expanduser()) if bundle else None


# These sections are checked one by one, so that a mistake in one does not hide those in another.
_ONE_BY_ONE = ("pods", "network", "access")


def _document(config: Mapping[str, str]) -> dict[str, Any]:
    """Our namespace as one document; what is not JSON is a plain string."""
    document: dict[str, Any] = {}
    for key, value in config.items():
        namespace, _, name = key.partition(":")
        if namespace != NAMESPACE:
            continue
        try:
            document[name] = json.loads(value)
        except ValueError:
            document[name] = value
    return document


def _gcp_keys(config: Mapping[str, str]) -> dict[str, str]:
    return {key.removeprefix("gcp:"): value for key, value in config.items() if key.startswith("gcp:")}


def _validate(model: type[_Model], value: object) -> _Model:
    # JSON mode: a list is good where the model has a tuple, and nothing else is coerced.
    return model.model_validate_json(json.dumps(value))


def _section(model: type[_Model], value: object, path: str, problems: list[Problem]) -> _Model | None:
    try:
        return _validate(model, value)
    except ValidationError as error:
        problems += problems_of(error, path, model)
        return None


def _pods(document: Mapping[str, Any], problems: list[Problem]) -> dict[int, PodSettings]:
    """The pods that are good by themselves, by index."""
    if not isinstance(document.get("pods"), list) or not document["pods"]:
        problems += _problems_of_rest({key: document[key] for key in ("pods",) if key in document}, required="pods")
        return {}
    good = {}
    for index, value in enumerate(document["pods"]):
        pod = _section(PodSettings, value, f"pods[{index}]", problems)
        if pod:
            good[index] = pod
    return good


def _access(document: Mapping[str, Any], problems: list[Problem]) -> AccessSettings | None:
    if "access" not in document:
        problems += _problems_of_rest({}, required="access")
        return None
    return _section(AccessSettings, document["access"], "access", problems)


def _problems_of_rest(values: Mapping[str, Any], required: str | None = None) -> list[Problem]:
    """Check top-level values where the sections that are checked elsewhere are absent."""
    try:
        _validate(Settings, dict(values))
    except ValidationError as error:
        elsewhere = {*_ONE_BY_ONE, "gcp"} - {required}
        return [
            problem
            for problem, details in zip(problems_of(error, "", Settings), findings(error), strict=True)
            if details["loc"][0] not in elsewhere
        ]
    return []


def _missing_ca_bundle(document: Mapping[str, Any], root: Path) -> list[Problem]:
    bundle = _mapping(document.get("packages")).get("ca_bundle")
    if not isinstance(bundle, str) or (root / Path(bundle).expanduser()).is_file():
        return []
    return [
        Problem("packages.ca_bundle", "does not exist, so hosts could not reach any package server: correct it", bundle)
    ]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
