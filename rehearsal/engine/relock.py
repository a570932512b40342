"""`make lock`: bring the Go module that builds the engine to the version that requirements.txt now pins."""

from __future__ import annotations

import subprocess
import sys

from rehearsal.engine.build import ENGINE, MODULE, go_program, module_version
from rehearsal.setup.python_packages import LOCK, locked_versions


def main() -> int:
    """Exit status 0 when both name the same version; go.mod and go.sum are rewritten where they did not."""
    wanted = locked_versions(LOCK.read_text(encoding="utf-8"))["pulumi"]
    if module_version() == wanted:
        return 0
    go = go_program()
    if go is None:
        print(
            f"Go is missing, which brings {MODULE} to Pulumi {wanted}: get it from https://go.dev/dl/.", file=sys.stderr
        )
        return 1
    for arguments in (["mod", "edit", f"-require={ENGINE}@v{wanted}"], ["mod", "tidy"]):
        if (status := subprocess.run([str(go), *arguments], cwd=MODULE, check=False).returncode) != 0:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
