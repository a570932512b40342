"""Nodes in the store: kinds, reading, rendering for an API version."""

from __future__ import annotations

from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.discovery import SERVED, load
from rehearsal.emulator.handlers import Json
from rehearsal.emulator.services.tpu.refusals import not_found

KIND = "tpu.node"
_DOCUMENTS = {document.version: document for document in SERVED if document.service == "tpu"}


def stored_node(cloud: Cloud, name: str) -> Json:
    """A node's document. Raises ApiError 404."""
    node = cloud.store.get(name)
    if node is None or cloud.store.kind_of(name) != KIND:
        raise not_found(name)
    return node


def shown_node(node: Json, version: str) -> Json:
    """A node as an API version shows it: "internal" and fields that the version does not have are left out."""
    shown = pruned(node, "Node", version)
    if version == "v2alpha1" and shown.get("apiVersion") == "V2":
        # v2alpha1 has no name for its successor.
        shown["apiVersion"] = "V2_ALPHA1"
    return shown


def pruned(value: Json, schema: str, version: str) -> Json:
    """The fields of a message that a version's schema has, at every depth."""
    schemas = load(_DOCUMENTS[version]).schemas
    kept: Json = {}
    for key, inner in schemas[schema].get("properties", {}).items():
        if key not in value:
            continue
        item = value[key]
        reference = inner.get("$ref") or inner.get("items", {}).get("$ref")
        if reference and isinstance(item, list):
            item = [pruned(entry, reference, version) for entry in item]
        elif reference:
            item = pruned(item, reference, version)
        kept[key] = item
    return kept


def worker_keys(node: Json) -> list[str]:
    """The host key of every worker, in order."""
    return [f"{node['name']}/workers/{index}" for index in range(node["internal"]["workers"])]


def zone_of(name: str) -> str:
    return name.split("/")[3]


def nodes(cloud: Cloud, under: str = "") -> list[Json]:
    return [node for _, node in cloud.store.list(KIND, under)]


def set_internal(cloud: Cloud, name: str, **fields: object) -> Json | None:
    """Change what the API does not show of a node. Returns the node, or None when it is gone."""
    node = cloud.store.get(name)
    if node is None:
        return None
    return cloud.store.update(name, internal={**node["internal"], **fields})
