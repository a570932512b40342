"""Which accelerator a node asks for: by acceleratorType, or by acceleratorConfig."""

from __future__ import annotations

from rehearsal.emulator.handlers import Json
from rehearsal.emulator.services.tpu.catalog import CONFIG_TYPES, types_in
from rehearsal.emulator.services.tpu.refusals import bad_request, no_such_type
from tpuwright.accelerators import Accelerator


def chosen_accelerator(node: Json, zone: str) -> Accelerator:
    """The accelerator of a node's body. Raises ApiError 400 when the zone does not offer it."""
    named, config = node.get("acceleratorType"), node.get("acceleratorConfig")
    if named and config:
        raise bad_request("accelerator_type and accelerator_config are mutually exclusive; specify one of them")
    if not named and not config:
        raise bad_request("one of accelerator_type and accelerator_config must be specified")
    if named:
        return _by_name(named, zone)
    return _by_config(config or {}, zone)


def accelerator_config(accelerator: Accelerator) -> Json:
    """{type, topology} of an accelerator."""
    return {"type": CONFIG_TYPES[accelerator.generation.name], "topology": accelerator.topology}


def _by_name(name: str, zone: str) -> Accelerator:
    for accelerator in types_in(zone):
        if accelerator.name == name:
            return accelerator
    raise no_such_type(name, zone)


def _by_config(config: Json, zone: str) -> Accelerator:
    kind, topology = config.get("type"), config.get("topology")
    if not kind or not topology or kind == "TYPE_UNSPECIFIED":
        raise bad_request("accelerator_config needs both type and topology")
    for accelerator in types_in(zone):
        if accelerator_config(accelerator) == {"type": kind, "topology": topology}:
            return accelerator
    raise bad_request(
        f'The requested accelerator configuration, type "{kind}" with topology "{topology}", could not be found '
        f'in the zonal accelerator configurations for "{zone}".'
    )
