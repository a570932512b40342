"""Property values between Pulumi's wire form and Python: unknowns, secrets, numbers."""

from collections.abc import Mapping
from typing import Any

from google.protobuf import struct_pb2  # type: ignore[import-untyped,unused-ignore]
from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped,unused-ignore]

Properties = dict[str, Any]

# Pulumi's marks on the wire (sdk/python: runtime/rpc.py): a value that a preview does not know yet, and a secret.
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
_SIGNATURE = "4dabf18193072939515e22adb298388d"
_SECRET = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 the mark of a secret, no secret


def from_wire(properties: struct_pb2.Struct) -> Properties:
    """A Struct as a dict without nulls and without marks of secrets; whole numbers are ints."""
    plain = _plain(MessageToDict(properties))
    return plain if isinstance(plain, dict) else {}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        if value.get(_SIGNATURE) == _SECRET:
            return _plain(value.get("value"))
        return {key: _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def to_wire(properties: Mapping[str, Any]) -> struct_pb2.Struct:
    """The inverse of `from_wire`; wrap what is secret with `secret` before."""
    struct = struct_pb2.Struct()
    struct.update(properties)
    return struct


def secret(value: Any) -> Any:
    """The value marked as secret, for an engine that accepts secrets."""
    return {_SIGNATURE: _SECRET, "value": value}


def has_unknown(value: Any) -> bool:
    """Whether the value, at any depth, is not known yet."""
    if isinstance(value, dict):
        return any(has_unknown(item) for item in value.values())
    if isinstance(value, list):
        return any(has_unknown(item) for item in value)
    return bool(value == UNKNOWN)


def is_empty(value: Any) -> bool:
    """Whether the official plugin takes the value for "not set": nothing, zero, false, or an empty collection."""
    return value is None or value in ("", 0, False) or (isinstance(value, dict | list) and not value)
