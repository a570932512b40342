"""Where a rehearsal keeps its state: `<repository>/.rehearsal/`, or what TPUWRIGHT_REHEARSAL_DIR names."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

ENVIRONMENT_VARIABLE = "TPUWRIGHT_REHEARSAL_DIR"
REPOSITORY = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class RehearsalPaths:
    """The files of one rehearsal; nothing is made until `make()` is called."""

    root: Path

    def make(self) -> RehearsalPaths:
        """Create the directory, readable by its owner only, and return self."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self

    @property
    def daemon(self) -> Path:
        """What runs, or ran last: see rehearsal.emulator.daemon.Daemon."""
        return self.root / "emulator.json"

    @property
    def lock(self) -> Path:
        """Held by the emulator that uses this directory."""
        return self.root / "emulator.lock"

    @property
    def token(self) -> Path:
        """The bearer token that clients show, mode 0600."""
        return self.root / "token"

    @property
    def database(self) -> Path:
        return self.root / "emulator.sqlite"

    @property
    def log(self) -> Path:
        return self.root / "emulator.log"

    @property
    def name(self) -> str:
        """A short name for this rehearsal, by which its containers and networks are marked in Docker."""
        return hashlib.sha256(str(self.root).encode()).hexdigest()[:8]

    @property
    def backend(self) -> Path:
        """Pulumi's file backend."""
        return self.root / "backend"

    @property
    def passphrase(self) -> Path:
        """The passphrase of the rehearsal stack's secrets, mode 0600."""
        return self.root / "passphrase"

    @property
    def ssh_key(self) -> Path:
        """The rehearsal user's private key; the public one has `.pub` appended."""
        return self.root / "ssh" / "id_ed25519"


def rehearsal_paths() -> RehearsalPaths:
    """The paths of the rehearsal that this process belongs to."""
    given = os.environ.get(ENVIRONMENT_VARIABLE)
    return RehearsalPaths(Path(given).expanduser().resolve() if given else REPOSITORY / ".rehearsal")
