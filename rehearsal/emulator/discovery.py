"""Google's discovery documents, read for what the emulator needs: methods by path, and message schemas.

The documents ship inside google-api-python-client. They are read when a service is first asked for, and
descriptions are dropped while parsing: Compute's two documents would cost 100 MB of memory otherwise.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import unquote

Schema = dict[str, Any]
DOCUMENTS = Path(str(files("googleapiclient"))) / "discovery_cache" / "documents"
_OUTPUT_ONLY = re.compile(r"^\W*output only", re.IGNORECASE)
_DROPPED = ("enumDescriptions", "enumDeprecated", "annotations", "icons", "scopes", "deprecated")
_VARIABLE = re.compile(r"\{(\+?)(\w+)\}")


@dataclass(frozen=True)
class DocumentId:
    """A discovery document and the path under which its service answers here (no leading slash)."""

    service: str
    version: str
    root: str

    @property
    def file(self) -> Path:
        return DOCUMENTS / f"{self.service}.{self.version}.json"


SERVED = (
    DocumentId("tpu", "v2", "v2/"),
    DocumentId("tpu", "v2alpha1", "v2alpha1/"),
    DocumentId("compute", "v1", "compute/v1/"),
    DocumentId("compute", "beta", "compute/beta/"),
    DocumentId("iam", "v1", "v1/"),
    DocumentId("cloudresourcemanager", "v1", "v1/"),
    DocumentId("cloudresourcemanager", "v3", "v3/"),
    DocumentId("serviceusage", "v1", "v1/"),
    DocumentId("serviceusage", "v1beta1", "v1beta1/"),
    # Not emulated yet: known, so that a request is answered by the name of what is missing.
    DocumentId("storage", "v1", "storage/v1/"),
    DocumentId("file", "v1beta1", "v1beta1/"),
)
PREFIXES = {
    "tpu": "tpu",
    "iam": "iam",
    "cloudresourcemanager": "cloudresourcemanager",
    "crm": "cloudresourcemanager",
    "serviceusage": "serviceusage",
    "su": "serviceusage",
    "file": "file",
}
"""First path segments that may precede a service's own path, for clients configured with one."""


@dataclass(frozen=True)
class Method:
    """A method of a discovery document. `shape` matches the whole path, `names` captures its variables."""

    id: str
    http_method: str
    shape: re.Pattern[str]
    names: re.Pattern[str]
    literal_segments: int
    parameters: dict[str, Schema]
    request: str | None
    response: str | None


@dataclass
class Document:
    """One version of one service."""

    id: DocumentId
    methods: list[Method] = field(default_factory=list)
    schemas: dict[str, Schema] = field(default_factory=dict)
    common_parameters: dict[str, Schema] = field(default_factory=dict)

    def find(self, http_method: str, path: str) -> list[tuple[Method, dict[str, str]]]:
        """The methods that a raw (still percent-encoded) path could mean, most literal first."""
        found = []
        for method in self.methods:
            if method.http_method != http_method or not method.shape.fullmatch(path):
                continue
            names = method.names.fullmatch(path)
            if names is None:
                continue
            found.append((method, {key: unquote(value) for key, value in names.groupdict().items()}))
        return sorted(found, key=lambda pair: -pair[0].literal_segments)

    def knows(self, path: str) -> bool:
        """Whether any verb would fit this path."""
        return any(method.shape.fullmatch(path) for method in self.methods)


@dataclass(frozen=True)
class Match:
    """A request's method and its decoded path variables."""

    document: Document
    method: Method
    path: dict[str, str]
    base_path: str


@cache
def load(document: DocumentId) -> Document:
    """Read a document. Raises FileNotFoundError when google-api-python-client does not carry it."""
    raw = json.loads(document.file.read_text(encoding="utf-8"), object_hook=_slim)
    # The documents' paths already start with the version except for Compute's, which have a servicePath.
    prefix = raw.get("servicePath", "")
    read = Document(document, schemas=raw["schemas"], common_parameters=raw.get("parameters", {}))
    _collect(raw, prefix, read.methods)
    return read


def find(http_method: str, raw_path: str, handled: frozenset[str]) -> Match | None:
    """The method that a request means; of several (two services share a path) one that has a handler."""
    candidates: list[Match] = []
    for document_id, path, base_path in _readings(raw_path):
        document = load(document_id)
        candidates += [
            Match(document, method, variables, base_path) for method, variables in document.find(http_method, path)
        ]
    return next((match for match in candidates if match.method.id in handled), next(iter(candidates), None))


def other_verbs(raw_path: str) -> bool:
    """Whether the path exists for another HTTP method."""
    return any(load(document_id).knows(path) for document_id, path, _ in _readings(raw_path))


def service_of(raw_path: str) -> str:
    """The service that a path belongs to, for the shape of its errors; "" when no service is known."""
    return next((document_id.service for document_id, _, _ in _readings(raw_path)), "")


def _readings(raw_path: str) -> list[tuple[DocumentId, str, str]]:
    # The official gcp plugin ends some paths with a slash.
    path = raw_path.strip("/")
    first, _, rest = path.partition("/")
    only = PREFIXES.get(first)
    if only is not None:
        path = rest
    return [
        (document, path, f"{first}/{document.root}" if only else document.root)
        for document in SERVED
        if path.startswith(document.root) and only in (None, document.service)
    ]


def _slim(node: dict[str, Any]) -> dict[str, Any]:
    for key in _DROPPED:
        if not isinstance(node.get(key), dict):
            node.pop(key, None)
    description = node.get("description")
    if isinstance(description, str):
        del node["description"]
        # Compute marks output-only fields in the description alone.
        if _OUTPUT_ONLY.match(description):
            node["readOnly"] = True
    for key in ("type", "format", "$ref"):
        if isinstance(node.get(key), str):
            node[key] = sys.intern(node[key])
    if isinstance(node.get("id"), str) and "httpMethod" not in node:
        del node["id"]
    return node


def _collect(resource: dict[str, Any], prefix: str, into: list[Method]) -> None:
    for method in resource.get("methods", {}).values():
        flat = prefix + method.get("flatPath", method["path"])
        into.append(
            Method(
                id=method["id"],
                http_method=method["httpMethod"],
                shape=_pattern(flat, capture=False),
                names=_pattern(prefix + method["path"], capture=True),
                literal_segments=sum("{" not in segment for segment in flat.split("/")),
                parameters=method.get("parameters", {}),
                request=method.get("request", {}).get("$ref"),
                response=method.get("response", {}).get("$ref"),
            )
        )
    for child in resource.get("resources", {}).values():
        _collect(child, prefix, into)


def _pattern(template: str, *, capture: bool) -> re.Pattern[str]:
    """A template's regular expression; without `capture`, one variable is one path segment."""
    parts: list[str] = []
    position = 0
    for variable in _VARIABLE.finditer(template):
        parts.append(re.escape(template[position : variable.start()]))
        if capture:
            parts.append(f"(?P<{variable[2]}>{'.+' if variable[1] else '[^/]+'})")
        else:
            # A custom verb (":stop") ends a path, so a name in the last segment holds no colon.
            last = "/" not in template[variable.end() :]
            parts.append("[^/:]+" if last else "[^/]+")
        position = variable.end()
    parts.append(re.escape(template[position:]))
    return re.compile("".join(parts))
