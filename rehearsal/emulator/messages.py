"""Messages checked against discovery schemas: requests as Google's JSON parser does it, responses strictly."""

from __future__ import annotations

import base64
import binascii
import math
import re
from datetime import datetime
from typing import Any

from rehearsal.emulator.discovery import Document, Match, Schema
from rehearsal.emulator.enumerations import enum_name
from rehearsal.emulator.errors import ApiError, invalid
from rehearsal.emulator.handlers import Json

_DURATION = re.compile(r"-?\d{1,12}(\.\d{1,9})?s")
_INTEGER = re.compile(r"-?\d{1,20}")
_RANGES = {
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}
_COMMON = {"alt", "key", "fields", "prettyPrint", "access_token", "quotaUser", "userIp", "callback", "$alt"}

_UNDOCUMENTED = {"compute.RouterNat": {"initialNatIps"}}
"""Fields that the official gcp plugin sends and Google takes, though no discovery document has them."""

_UNDOCUMENTED_PARAMETERS = {"compute": {"returnPartialSuccess"}}
"""Query parameters that gcloud and google-cloud-compute send, though not every discovery document has them."""


class ResponseMismatch(Exception):
    """A handler's answer is not what the discovery document promises: a bug of the emulator."""


def snake_case(name: str) -> str:
    """A JSON name as the protocol buffer's field name: "networkConfig" -> "network_config"."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: "_" + match[1].lower(), name)


def camel_case(name: str) -> str:
    return re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), name)


def check_request(match: Match, body: object) -> Json:
    """The body without output-only fields and nulls, in JSON names.

    Raises ApiError 400 in Google's words for an unknown field, a wrong type or an unknown enum value.
    """
    if match.method.request is None:
        if body not in (None, {}):
            raise invalid("Invalid JSON payload received. Request body must be empty for this method.")
        return {}
    if body is None:
        return {}
    if not isinstance(body, dict):
        raise invalid('Invalid JSON payload received. Unknown name "": Root element must be a message.')
    reference = match.method.request
    # A request message of its own is the root; a bare resource is a field of the method's request.
    root = "" if reference.endswith("Request") else snake_case(reference[0].lower() + reference[1:])
    return _RequestChecker(match.document).message(reference, body, root)


def check_query(match: Match, query: list[tuple[str, str]]) -> dict[str, Any]:
    """The method's own query parameters, typed. Raises ApiError 400 for an unknown or malformed one."""
    declared = {name: schema for name, schema in match.method.parameters.items() if schema.get("location") == "query"}
    values: dict[str, Any] = {}
    tolerated = _COMMON | _UNDOCUMENTED_PARAMETERS.get(match.document.id.service, set())
    for given, text in query:
        name = given if given in declared else camel_case(given)
        if name not in declared:
            if given in match.document.common_parameters or given in tolerated or given.startswith("$"):
                continue
            raise invalid(
                f'Invalid JSON payload received. Unknown name "{given}": Cannot bind query parameter. '
                f"Field '{given}' could not be found in request message.",
                field="",
            )
        value = _parameter(snake_case(name), declared[name], text)
        if declared[name].get("repeated"):
            values.setdefault(name, []).append(value)
        else:
            values[name] = value
    missing = [name for name, schema in declared.items() if schema.get("required") and name not in values]
    if missing:
        raise invalid(f"Required parameter: {missing[0]}", reason="required")
    return values


def check_path(match: Match) -> None:
    """Raise ApiError 400 when a path variable does not fit the method's pattern."""
    for name, value in match.path.items():
        pattern = match.method.parameters.get(name, {}).get("pattern")
        if pattern is not None and not re.fullmatch(pattern.removeprefix("^").removesuffix("$"), value):
            raise invalid(
                f"Invalid value for field '{name}': '{value}'. Must be a match of regex '{pattern}'",
                reason="invalidParameter",
            )


def check_response(match: Match, answer: object) -> None:
    """Raise ResponseMismatch when a handler's answer is not what the document promises."""
    if not isinstance(answer, dict):
        raise ResponseMismatch(f"{match.method.id} answered {type(answer).__name__}, not an object.")
    if match.method.response is not None:
        _ResponseChecker(match.document, match.method.id).message(match.method.response, answer, "")


def _parameter(name: str, schema: Schema, text: str) -> object:
    kind = schema.get("type")
    if kind == "boolean":
        if text.lower() not in {"true", "false", "1", "0"}:
            raise _wrong(name, "TYPE_BOOL", text)
        return text.lower() in {"true", "1"}
    if kind == "integer" or schema.get("format") in _RANGES:
        number = _integer(schema.get("format", "int32"), text)
        if number is None:
            raise _wrong(name, f"TYPE_{schema.get('format', 'int32').upper()}", text)
        return number
    if "enum" in schema and text not in schema["enum"]:
        raise _wrong(name, "TYPE_ENUM", text)
    if schema.get("format") == "google-fieldmask":
        return ",".join(".".join(camel_case(part) for part in item.split(".")) for item in text.split(","))
    return text


def _integer(form: str, value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        value = int(value) if math.isfinite(value) and value.is_integer() else None
    elif isinstance(value, str):
        value = int(value) if _INTEGER.fullmatch(value) else None
    if not isinstance(value, int):
        return None
    low, high = _RANGES.get(form, _RANGES["int64"])
    return value if low <= value <= high else None


def _wrong(path: str, kind: str, value: object) -> ApiError:
    shown = f'"{value}"' if isinstance(value, str) else _json_word(value)
    return invalid(f"Invalid value at '{path}' ({kind}), {shown}", field=path)


def _json_word(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


class _RequestChecker:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.schemas = document.schemas

    def message(self, reference: str, given: Json, path: str) -> Json:
        properties: dict[str, Schema] = self.schemas[reference].get("properties", {})
        extra = self.schemas[reference].get("additionalProperties")
        cleaned: Json = {}
        for key, value in given.items():
            name = key if key in properties else camel_case(key)
            if name not in properties:
                if name in _UNDOCUMENTED.get(f"{self.document.id.service}.{reference}", ()):
                    continue
                if extra is not None:
                    cleaned[key] = self.value(extra, value, f"{path}[{key}]", reference, key)
                    continue
                place = f" at '{path}'" if path else ""
                raise invalid(
                    f'Invalid JSON payload received. Unknown name "{key}"{place}: Cannot find field.', field=path
                )
            schema = properties[name]
            if value is None or schema.get("readOnly"):
                continue
            where = f"{path}.{snake_case(name)}" if path else snake_case(name)
            cleaned[name] = self.value(schema, value, where, reference, name)
        return cleaned

    def value(self, schema: Schema, value: Any, path: str, owner: str, name: str) -> Any:
        if "$ref" in schema:
            if not isinstance(value, dict):
                raise _wrong(path, f"type.googleapis.com/{schema['$ref']}", value)
            return self.message(schema["$ref"], value, path)
        kind = schema.get("type")
        if kind == "array":
            # A single value where a list is due is taken as a list of one, as Google's parser does.
            items = value if isinstance(value, list) else [value]
            return [
                self.value(schema["items"], item, f"{path}[{index}]", owner, name)
                for index, item in enumerate(items)
                if item is not None
            ]
        if kind == "object":
            return self._object(schema, value, path, owner, name)
        if kind == "any" or kind is None:
            return value
        return self._scalar(schema, value, path, owner, name)

    def _object(self, schema: Schema, value: Any, path: str, owner: str, name: str) -> Json:
        if not isinstance(value, dict):
            raise _wrong(path, "TYPE_MESSAGE", value)
        items = schema.get("additionalProperties")
        if items is None:
            if "properties" not in schema:
                return value
            return self._inline(schema, value, path, owner)
        return {
            key: self.value(items, item, f"{path}[{index}].value", owner, name)
            for index, (key, item) in enumerate(value.items())
            if item is not None
        }

    def _inline(self, schema: Schema, value: Json, path: str, owner: str) -> Json:
        cleaned: Json = {}
        for key, item in value.items():
            inner = schema["properties"].get(key)
            if inner is None:
                raise invalid(
                    f"Invalid JSON payload received. Unknown name \"{key}\" at '{path}': Cannot find field.",
                    field=path,
                )
            if item is not None and not inner.get("readOnly"):
                cleaned[key] = self.value(inner, item, f"{path}.{snake_case(key)}", owner, key)
        return cleaned

    def _scalar(self, schema: Schema, value: Any, path: str, owner: str, name: str) -> Any:
        kind, form = schema["type"], schema.get("format")
        if "enum" in schema:
            if isinstance(value, int) and not isinstance(value, bool):
                value = enum_name(f"{self.document.id.service}.{owner}.{name}", value)
            if value not in schema["enum"]:
                # Compute's clients clear an enum by sending "".
                if value == "":
                    return value
                raise _wrong(path, f"type.googleapis.com/{owner}.{name[0].upper()}{name[1:]}", value)
            return value
        if kind == "boolean":
            if not isinstance(value, bool):
                raise _wrong(path, "TYPE_BOOL", value)
            return value
        if form in _RANGES:
            number = _integer(form, value)
            if number is None:
                raise _wrong(path, f"TYPE_{form.upper()}", value)
            return str(number) if kind == "string" else number
        if kind in {"number", "integer"}:
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise _wrong(path, "TYPE_DOUBLE", value)
            return value
        if not isinstance(value, str):
            raise _wrong(path, "TYPE_STRING", value)
        if not _well_formed(form, value):
            raise _wrong(path, f"TYPE_{str(form).upper().replace('-', '_')}", value)
        return value


class _ResponseChecker:
    def __init__(self, document: Document, method_id: str) -> None:
        self.schemas = document.schemas
        self.method_id = method_id

    def fail(self, path: str, problem: str) -> ResponseMismatch:
        return ResponseMismatch(f"{self.method_id} answered {path or 'a body'} {problem}.")

    def message(self, reference: str, answer: Json, path: str) -> None:
        self.properties(self.schemas[reference], answer, path, reference)

    def properties(self, schema: Schema, answer: object, path: str, reference: str) -> None:
        if not isinstance(answer, dict):
            raise self.fail(path, f"as {type(answer).__name__}, not an object")
        known = schema.get("properties", {})
        extra = schema.get("additionalProperties")
        for key, value in answer.items():
            inner = known.get(key, extra)
            if inner is None:
                raise self.fail(f"{path}.{key}".lstrip("."), f"which {reference} does not have")
            self.value(inner, value, f"{path}.{key}".lstrip("."))

    def value(self, schema: Schema, value: object, path: str) -> None:
        if "$ref" in schema:
            self.properties(self.schemas[schema["$ref"]], value, path, schema["$ref"])
            return
        kind, form = schema.get("type"), schema.get("format")
        if kind == "any" or kind is None:
            return
        if kind == "array":
            if not isinstance(value, list):
                raise self.fail(path, f"as {type(value).__name__}, not a list")
            for index, item in enumerate(value):
                self.value(schema["items"], item, f"{path}[{index}]")
            return
        if kind == "object":
            if "properties" in schema or "additionalProperties" in schema:
                self.properties(schema, value, path, path)
            elif not isinstance(value, dict):
                raise self.fail(path, "not an object")
            return
        expected: dict[str, type | tuple[type, ...]] = {
            "string": str,
            "boolean": bool,
            "integer": int,
            "number": (int, float),
        }
        wanted = expected[kind]
        if not isinstance(value, wanted) or (isinstance(value, bool) and kind != "boolean"):
            raise self.fail(path, f"as {value!r}, not {kind}")
        if isinstance(value, str) and "enum" in schema and value not in schema["enum"]:
            raise self.fail(path, f"as {value!r}, which is none of its values")
        if isinstance(value, str) and form is not None:
            fits = _integer(form, value) is not None if form in _RANGES else _well_formed(form, value)
            if not fits:
                raise self.fail(path, f"as {value!r}, not {form}")


def _well_formed(form: str | None, value: str) -> bool:
    if form == "google-duration":
        return _DURATION.fullmatch(value) is not None
    if form in {"google-datetime", "date-time"}:
        try:
            return datetime.fromisoformat(value).tzinfo is not None
        except ValueError:
            return False
    if form == "byte":
        try:
            base64.b64decode(value.replace("-", "+").replace("_", "/") + "=" * (-len(value) % 4), validate=True)
        except (binascii.Error, ValueError):
            return False
    return True
