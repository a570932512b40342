"""Building the Pulumi engine from its Go module, for machines that reach a Go proxy but not get.pulumi.com.

The module in module/ requires the engine at exactly the pinned version and locks every dependency with its hash, so a
build asks the proxy for exact versions only and gives the same engine everywhere.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

MODULE = Path(__file__).resolve().parent / "module"
ENGINE = "github.com/pulumi/pulumi/pkg/v3"
_VERSION_VARIABLE = "github.com/pulumi/pulumi/sdk/v3/go/common/version.Version"
_USUAL_PLACE = Path("/usr/local/go/bin/go")  # where Go's own archive goes; often not on the PATH of root

Run = Callable[[Sequence[str], Mapping[str, str], Path], None]


def module_version() -> str:
    """The engine's version that the committed module builds, as `3.256.0`."""
    required = re.search(rf"^require {re.escape(ENGINE)} v(\S+)", (MODULE / "go.mod").read_text(), re.MULTILINE)
    if required is None:
        raise ValueError(f"{MODULE / 'go.mod'} does not require {ENGINE}")
    return required[1]


def go_program() -> Path | None:
    """The Go on PATH, or in its usual place."""
    found = shutil.which("go")
    if found:
        return Path(found)
    return _USUAL_PLACE if os.access(_USUAL_PLACE, os.X_OK) else None


def build(go: Path, directory: Path, run: Run) -> None:
    """Build the engine as directory/pulumi: some minutes on two cores; Go's caches stay warm for the next time.

    `run(command, environment, working directory)` runs it and raises where it fails.
    """
    with tempfile.TemporaryDirectory(prefix="tpuwright-engine-") as temporary:
        # A copy: Go may write into the module's directory, and the checkout stays as it is.
        module = Path(temporary) / "module"
        shutil.copytree(MODULE, module)
        linker_flags = f"-s -w -X {_VERSION_VARIABLE}={module_version()}"
        target = ["-o", str(directory / "pulumi"), f"{ENGINE}/cmd/pulumi"]
        run([str(go), "build", "-trimpath", "-ldflags", linker_flags, *target], {"CGO_ENABLED": "0"}, module)
