"""A TPU node (`gcp:tpu/v2Vm:V2Vm`)."""

from collections.abc import Mapping
from typing import Any

from rehearsal.provider.api import Answer
from rehearsal.provider.bodies import Body
from rehearsal.provider.lifecycle import Lifecycle

# What the plugin asks for when the program names no accelerator at all.
_DEFAULT_TYPE = "v2-8"


class TpuNode(Lifecycle):
    """The table's node, with the plugin's default accelerator and the endpoints in the plugin's shape."""

    def creation_body(self, inputs: Mapping[str, Any], scope: Mapping[str, str]) -> Body:
        made = super().creation_body(inputs, scope)
        if "acceleratorType" not in made and "acceleratorConfig" not in made:
            made["acceleratorType"] = _DEFAULT_TYPE
        return made

    def fetch(self, scope: Mapping[str, str]) -> Answer | None:
        answer = super().fetch(scope)
        if answer is None:
            return None
        for name in ("apiVersion", "health", "healthDescription", "queuedResource", "state"):
            answer.setdefault(name, "")
        answer.setdefault("multisliceNode", False)
        answer["networkEndpoints"] = [_endpoint(endpoint) for endpoint in answer.get("networkEndpoints") or []]
        answer["symptoms"] = answer.get("symptoms") or []
        return answer


def _endpoint(endpoint: Mapping[str, Any]) -> dict[str, Any]:
    access = endpoint.get("accessConfig")
    return {
        "accessConfigs": [{"externalIp": access.get("externalIp", "")}] if access else [],
        "ipAddress": endpoint.get("ipAddress", ""),
        "port": int(endpoint.get("port") or 0),
    }
