"""Subnetworks and firewall rules: their `logConfig` says by its presence that something is logged."""

from collections.abc import Mapping
from typing import Any

from rehearsal.provider.api import Answer
from rehearsal.provider.bodies import Body
from rehearsal.provider.kinds import Update
from rehearsal.provider.lifecycle import Edit, Lifecycle

# The API takes no logConfig, not even one that logs nothing, for subnetworks of these purposes.
_WITHOUT_LOGS = {"REGIONAL_MANAGED_PROXY", "GLOBAL_MANAGED_PROXY", "INTERNAL_HTTPS_LOAD_BALANCER"}


class Logged(Lifecycle):
    """The table's resource, with `logConfig.enable` added to requests and taken from answers."""

    def creation_body(self, inputs: Mapping[str, Any], scope: Mapping[str, str]) -> Body:
        return _with_enable(super().creation_body(inputs, scope), inputs)

    def update_body(self, update: Update, edit: Edit) -> Body:
        return _with_enable(super().update_body(update, edit), edit.inputs)

    def fetch(self, scope: Mapping[str, str]) -> Answer | None:
        answer = super().fetch(scope)
        if answer is not None and not (answer.get("logConfig") or {}).get("enable"):
            answer.pop("logConfig", None)
        return answer


def _with_enable(made: Body, inputs: Mapping[str, Any]) -> Body:
    if inputs.get("purpose") in _WITHOUT_LOGS:
        made.pop("logConfig", None)
    elif inputs.get("logConfig"):
        made["logConfig"] = {"enable": True, **made.get("logConfig", {})}
    elif inputs.get("enableLogging") and "logConfig" in made:
        made["logConfig"] = {"enable": True}
    return made
