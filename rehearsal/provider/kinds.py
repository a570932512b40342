"""What the stand-in knows of a resource type: one `Kind` each, found by its token."""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from rehearsal.provider.property_types import Property, ResourceSchema, schema_of

GCE_NAME = r"^(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)$"


@dataclass(frozen=True)
class Update:
    """One request that changes some properties in place.

    It is sent when one of `properties` changed; its body holds those of them that are not empty (and, from the kind's
    `update_zeros`, empty ones that the plugin sends all the same). With `mask` the query names the changed fields; with
    `fingerprint` the resource is read first and its fingerprint sent along.
    """

    properties: tuple[str, ...]
    method: str = "PATCH"
    verb: str = ""
    mask: bool = False
    fingerprint: bool = False


@dataclass(frozen=True)
class Kind:
    """A resource type.

    Property paths have no indices ("networkConfigs.subnetwork"). `{project}`, `{zone}`, `{region}` and properties may
    stand in `collection`, `identity` and `create_query`.

    Attributes:
        title: the plugin's own name for it, in its error sentences.
        service: whose API it is, a key of `configuration.SERVICES`.
        collection: path that a creation is posted to; the resource is `collection/{name}` unless `path` says else.
        identity: Pulumi's id, where it is not the resource's path.
        api: property path -> name of the field in the API, where it differs; may be dotted at the top level.
        links: property path -> collection; sent as `projects/P/<collection>/NAME`, compared as references.
        names: property paths of which the state holds the last part of the API's link.
        compared_as_names: further paths where a full link and a bare name mean the same.
        images: property paths that name an image or a family of images.
        computed: inputs that the API fills in when the program leaves them out.
        defaults: what the plugin itself fills in.
        sets: lists whose order means nothing.
        zeros: property -> what a creation sends although it is empty; `update_zeros` likewise.
        always: nested paths sent in every request that holds their object, empty or not.
        virtual: properties of the plugin's own, never sent.
        conflicts: pairs of properties that exclude each other.
        behaviour: `module:Class` of a lifecycle of its own, where the table is not enough.
    """

    token: str
    title: str
    service: str
    collection: str
    path: str = ""
    identity: str = ""
    create_query: str = ""
    read_query: str = ""
    operation: str = "compute"
    api: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    compared_as_names: frozenset[str] = frozenset()
    images: frozenset[str] = frozenset()
    computed: frozenset[str] = frozenset()
    defaults: Mapping[str, object] = field(default_factory=dict)
    sets: frozenset[str] = frozenset()
    zeros: Mapping[str, object] = field(default_factory=dict)
    update_zeros: Mapping[str, object] = field(default_factory=dict)
    always: frozenset[str] = frozenset()
    virtual: frozenset[str] = frozenset()
    conflicts: tuple[tuple[str, str], ...] = ()
    updates: tuple[Update, ...] = ()
    labels: bool = False
    name_pattern: str = ""
    default_zone: bool = False
    timeout: float = 20 * 60
    behaviour: str = "rehearsal.provider.lifecycle:Lifecycle"

    @property
    def schema(self) -> ResourceSchema:
        return schema_of(self.token)

    @property
    def own_path(self) -> str:
        """Path of the resource itself."""
        return self.path or self.collection + "/{name}"

    @property
    def id_template(self) -> str:
        return self.identity or self.own_path

    @property
    def name_property(self) -> str | None:
        """The input that the plugin fills with a unique name, or None where the type has none."""
        for name in ("name", "accountId"):
            if name in self.schema.inputs:
                return name
        return None

    @property
    def own_properties(self) -> frozenset[str]:
        return self.virtual | {"deletionPolicy"}

    def is_reference(self, path: str) -> bool:
        return path in self.links or path in self.compared_as_names or path in self.images

    def field_of(self, item: Property) -> str:
        """Name of the API's field for a property; for a nested one the name inside its object."""
        return self.api.get(item.path, item.path.rpartition(".")[2])

    def import_patterns(self) -> list[re.Pattern[str]]:
        """Forms of an id to import by, longest first: the id, then its parts alone, from the left ones dropped."""
        parts = re.findall(r"\{(\w+)\}", self.id_template)
        forms = [self.id_template] + ["/".join(f"{{{p}}}" for p in parts[i:]) for i in range(len(parts))]
        return [re.compile("^" + re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(f)) + "$") for f in forms]


@functools.cache
def all_kinds() -> dict[str, Kind]:
    """Every type that the stand-in serves, by token."""
    from rehearsal.provider import kinds_access, kinds_compute, kinds_tpu

    return {kind.token: kind for kind in (*kinds_compute.KINDS, *kinds_tpu.KINDS, *kinds_access.KINDS)}
