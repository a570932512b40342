"""What every section of the settings has in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from tpuwright import naming
from tpuwright.settings.problems import refuse


class Section(BaseModel):
    """Types are not coerced (a number is not text), and an unknown key is an error."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


def checked_labels(labels: dict[str, str]) -> dict[str, str]:
    for key, value in labels.items():
        refuse(naming.label_key_problem(key), value=key)
        refuse(naming.label_value_problem(value), within=f".{key}", value=value)
    return labels
