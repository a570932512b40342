"""Which Pulumi plugins and which packages an environment holds; also run as a script inside that environment."""

import importlib.metadata
import json
import re
import sys
from typing import TypedDict

# These carry the `pulumi-` prefix and have no plugin.
_WITHOUT_PLUGIN = {"pulumi-policy", "pulumi-esc-sdk"}


class Plugin(TypedDict):
    """A plugin that a package needs: `version` with a leading v, `server` empty for Pulumi's own."""

    name: str
    version: str
    server: str


def plugins() -> list[Plugin]:
    """The resource plugins that the installed packages name (`pulumi-plugin.json`), sorted by name."""
    found: dict[str, Plugin] = {}
    for package in importlib.metadata.distributions():
        name = _normal(package.metadata["Name"] or "")
        record = _plugin_json(package, name)
        if name in _WITHOUT_PLUGIN or (record is None and not name.startswith("pulumi-")):
            continue
        record = record or {"resource": True}
        version = str(record.get("version") or _plugin_version(package.version))
        if not record.get("resource") or not version:
            continue
        plugin = str(record.get("name") or name.removeprefix("pulumi-"))
        found[plugin] = Plugin(
            name=plugin, version="v" + version.removeprefix("v"), server=str(record.get("server") or "")
        )
    return [found[name] for name in sorted(found)]


def packages(transitive: bool) -> list[tuple[str, str]]:
    """(name, version) of the installed packages; without `transitive` only those that no other one requires."""
    every = {_normal(p.metadata["Name"]): p for p in importlib.metadata.distributions() if p.metadata["Name"]}
    required = set()
    if not transitive:
        for package in every.values():
            for line in package.requires or []:
                if "extra ==" not in line:
                    required.add(_normal(re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0]))
    return [(name, every[name].version) for name in sorted(set(every) - required)]


def _plugin_json(package: importlib.metadata.Distribution, name: str) -> dict[str, object] | None:
    # Only packages of Pulumi's can hold the file; asking each one for its list of files costs a second.
    if "pulumi" not in name:
        return None
    for path in package.files or []:
        if path.name == "pulumi-plugin.json":
            record = json.loads(path.read_text())
            return record if isinstance(record, dict) else None
    return None


def _plugin_version(version: str) -> str:
    """PEP 440 to semantic versioning; empty where a pre-release does not say enough."""
    match = re.fullmatch(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:(a|b|rc)(\d+))?", version)
    if match is None:
        return ""
    core = ".".join(part or "0" for part in match.group(1, 2, 3))
    stage = {"a": "alpha", "b": "beta", "rc": "rc"}.get(match.group(4) or "")
    return f"{core}-{stage}.{match.group(5)}" if stage else core


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def report(transitive: bool) -> str:
    """Both lists as JSON: {"plugins": [...], "packages": [[name, version], ...]}."""
    return json.dumps({"plugins": plugins(), "packages": packages(transitive)})


if __name__ == "__main__":
    print(report(transitive="--transitive" in sys.argv))
