"""Everything that a stack may say: read with ``load``, refused with ``SettingsError``."""

from tpuwright.settings.access import AccessSettings, BastionSettings, UserSettings
from tpuwright.settings.loading import NAMESPACE, ca_bundle_of, load, read_logins
from tpuwright.settings.model import (
    EndpointSettings,
    GcpSettings,
    NetworkSettings,
    PackageSettings,
    Settings,
    StorageSettings,
)
from tpuwright.settings.pod import PodSettings
from tpuwright.settings.problems import Problem, SettingsError
from tpuwright.settings.public_keys import Login
from tpuwright.settings.relations import machines_in, subnets_of

__all__ = [
    "NAMESPACE",
    "AccessSettings",
    "BastionSettings",
    "EndpointSettings",
    "GcpSettings",
    "Login",
    "NetworkSettings",
    "PackageSettings",
    "PodSettings",
    "Problem",
    "Settings",
    "SettingsError",
    "StorageSettings",
    "UserSettings",
    "ca_bundle_of",
    "load",
    "machines_in",
    "read_logins",
    "subnets_of",
]
