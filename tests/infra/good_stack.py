"""The configuration of a stack that nothing is wrong with, as Pulumi gives it to the program."""

from __future__ import annotations

import json
from typing import Any

PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIL9sP7wSzzJjq8+Yx2c1vXo3yQp9xM8C0u5rNqf7pT2 researcher@example.org"
POD = {"name": "pod", "zones": ["us-west4-a"], "accelerator_type": "v5litepod-16"}


def configuration(**settings: Any) -> dict[str, str]:
    """Pulumi's configuration of a good stack, with some settings replaced."""
    whole = {
        "pods": [POD],
        "access": {"users": [{"name": "researcher", "keys": [PUBLIC_KEY]}]},
        **settings,
    }
    return {"gcp:project": "my-project"} | {f"tpuwright:{key}": json.dumps(value) for key, value in whole.items()}
