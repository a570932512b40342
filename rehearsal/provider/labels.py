"""Labels: those of the program, those that the plugin adds, and those that somebody else put on the resource."""

from collections.abc import Mapping
from typing import Any

from rehearsal.provider.values import UNKNOWN, has_unknown

# The plugin marks what it creates (provider option `addPulumiAttributionLabel`, on by default).
ATTRIBUTION = {"goog-pulumi-provisioned": "true"}

Labels = dict[str, str]


def own_labels(inputs: Mapping[str, Any]) -> Labels:
    """What the plugin calls `pulumiLabels`: the program's labels and the attribution."""
    return {**ATTRIBUTION, **inputs.get("labels", {})}


def effective_labels(inputs: Mapping[str, Any], state: Mapping[str, Any] | None) -> Labels | str:
    """All labels that the resource is to have: own ones, and foreign ones that are there; or UNKNOWN."""
    own = own_labels(inputs)
    if has_unknown(own):
        return UNKNOWN
    if state is None:
        return own
    managed = set(state.get("pulumiLabels") or {})
    foreign = {k: v for k, v in (state.get("effectiveLabels") or {}).items() if k not in managed}
    return {**foreign, **own}


def in_state(found: Labels, known: Mapping[str, Any]) -> dict[str, Labels]:
    """The three label properties from the API's labels; `known` are the inputs or the state so far."""
    mine = set(known.get("labels") or {})
    attributed = mine | set(known.get("pulumiLabels") or ATTRIBUTION)
    return {
        "labels": {k: v for k, v in found.items() if k in mine},
        "pulumiLabels": {k: v for k, v in found.items() if k in attributed},
        "effectiveLabels": dict(found),
    }
