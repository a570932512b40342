"""The emulated services. Every module below registers its handlers when it is imported."""

from __future__ import annotations

import importlib
import pkgutil


def load_handlers() -> None:
    """Import every module of every service, so that all handlers are registered."""
    for module in pkgutil.walk_packages(__path__, prefix=f"{__name__}."):
        importlib.import_module(module.name)
