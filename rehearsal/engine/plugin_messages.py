"""Pulumi's gRPC messages without the Pulumi SDK around them.

`import pulumi` runs the whole SDK: about half a second of processor time that every `pulumi` command would pay for
each plugin. The generated messages need none of it, so the two packages above them are entered as bare namespaces.
Only a process that is a plugin may do this (the programs that plugins start import the SDK as always).
"""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def _enter_bare(name: str, directory: Path) -> None:
    if name not in sys.modules:
        module = ModuleType(name)
        module.__path__ = [str(directory)]
        sys.modules[name] = module


def use_messages_only() -> None:
    """Make `pulumi.runtime.proto` importable without running `pulumi/__init__.py`.

    Raises:
        ModuleNotFoundError: the Pulumi SDK is not installed for this interpreter.
    """
    spec = importlib.util.find_spec("pulumi")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("the Pulumi SDK is not installed in this environment; run 'make setup'")
    root = Path(spec.submodule_search_locations[0])
    _enter_bare("pulumi", root)
    _enter_bare("pulumi.runtime", root / "runtime")
