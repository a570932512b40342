"""A Pulumi project of a test: the real engine, a file backend, the rehearsal's language host and gcp plugin."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
_BINARIES = [REPOSITORY / "rehearsal" / part / "bin" for part in ("engine", "provider")]
_ENDPOINTS = {
    "computeCustomEndpoint": "/compute/beta/",
    "iamCustomEndpoint": "/iam/v1/",
    "resourceManagerCustomEndpoint": "/crm/v1/",
    "serviceUsageCustomEndpoint": "/su/v1/",
    "tpuV2CustomEndpoint": "/v2alpha1/",
}


def engine() -> Path | None:
    """The Pulumi engine: on PATH, else the newest in tpuwright's cache."""
    found = shutil.which("pulumi")
    if found:
        return Path(found)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    built = sorted((cache / "tpuwright" / "pulumi").glob("*/bin/pulumi"))
    return built[-1] if built else None


@dataclass
class Project:
    """A project in `directory` with one stack, `test`."""

    directory: Path
    pulumi: Path
    environment: dict[str, str]

    @classmethod
    def make(cls, directory: Path, pulumi: Path, endpoint: str, token: str) -> "Project":
        """A project with an empty program, configured for an emulator at `endpoint`."""
        (directory / "backend").mkdir(parents=True)
        virtualenv = Path(sys.prefix)
        (directory / "Pulumi.yaml").write_text(
            f"name: p\nmain: program\nruntime:\n  name: python\n  options:\n    virtualenv: {virtualenv}\n"
        )
        (directory / "program").mkdir()
        config = {f"gcp:{name}": endpoint + path for name, path in _ENDPOINTS.items()}
        config |= {"gcp:project": "demo-proj", "gcp:zone": "europe-west4-a", "gcp:region": "europe-west4"}
        lines = [f"  {name}: {value}" for name, value in config.items()]
        (directory / "Pulumi.test.yaml").write_text("\n".join(["config:", *lines, ""]))
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PULUMI_")},
            "GOOGLE_OAUTH_ACCESS_TOKEN": token,
            "PATH": os.pathsep.join([*map(str, _BINARIES), str(pulumi.parent), os.environ["PATH"]]),
            "PULUMI_BACKEND_URL": f"file://{directory}/backend",
            "PULUMI_CONFIG_PASSPHRASE": "of-the-tests",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_STACK": "test",
        }
        made = cls(directory, pulumi, environment)
        made.program("")
        made.run("stack", "init", "test")
        return made

    def program(self, text: str) -> None:
        """Replace the program."""
        head = "import pulumi\nimport pulumi_gcp as gcp\n"
        (self.directory / "program" / "__main__.py").write_text(head + text)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a pulumi command in a process group of its own."""
        return subprocess.Popen(
            [str(self.pulumi), *arguments, "--non-interactive"],
            cwd=self.directory,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str, fails: bool = False) -> str:
        """Run a pulumi command to its end; its output. It must succeed, or fail if `fails`."""
        process = self.start(*arguments)
        try:
            output, _ = process.communicate(timeout=300)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        assert (process.returncode != 0) == fails, output
        return output

    def up(self, *arguments: str, fails: bool = False) -> str:
        return self.run("up", "--yes", "--skip-preview", *arguments, fails=fails)

    def deployment(self) -> dict[str, Any]:
        """The stack's deployment as the backend keeps it, secrets encrypted (asking the engine costs a second)."""
        checkpoint = next((self.directory / "backend" / ".pulumi" / "stacks").rglob("test.json"))
        kept: dict[str, Any] = json.loads(checkpoint.read_text())["checkpoint"]["latest"]
        return kept

    def resources(self) -> dict[str, Mapping[str, Any]]:
        """The gcp resources of the state, by their names in the program."""
        found = self.deployment().get("resources", [])
        return {r["urn"].split("::")[3]: r for r in found if r["type"].startswith("gcp:")}

    def outputs(self) -> dict[str, Any]:
        exported: dict[str, Any] = json.loads(self.run("stack", "output", "--json", "--show-secrets"))
        return exported
