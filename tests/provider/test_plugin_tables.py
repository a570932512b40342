"""The table of types agrees with the SDK that programs are written with, and a further type costs a few lines."""

import ast
import importlib.util
import re
from pathlib import Path

import pytest

from rehearsal.provider import kinds_compute, kinds_tpu
from rehearsal.provider.bodies import body, sent_at_creation
from rehearsal.provider.kinds import Kind, all_kinds
from rehearsal.provider.property_types import Property

KINDS = sorted(all_kinds().values(), key=lambda kind: kind.token)
# The plugin's schema says of these that they are always there, though nothing but the program ever sets them.
ALWAYS_THERE = {"project", "deletionPolicy", "name", "accountId"}


def optional_in_the_sdk(kind: Kind) -> dict[str, bool]:
    """Property -> whether the SDK says that it may be missing from a resource (its source is read, not run)."""
    package, _, name = kind.token.removeprefix("gcp:").partition(":")
    spec = importlib.util.find_spec("pulumi_gcp")
    assert spec is not None
    directory = Path(str(spec.origin)).parent / package.split("/")[0]
    source = next(t for t in map(Path.read_text, directory.glob("*.py")) if f'@pulumi.type_token("{kind.token}")' in t)
    text = source[source.rindex(f"\nclass {name}(") :]
    getter = r'@pulumi\.getter(?:\(name="(\w+)"\))?\n +def (\w+)\(self\) -> pulumi\.Output\[(Optional)?'
    return {given or own: bool(optional) for given, own, optional in re.findall(getter, text)}


def paths(fields: dict[str, Property]) -> set[str]:
    found = set()
    for item in fields.values():
        found.add(item.path)
        inner = item.element if item.element is not None else item
        found |= paths(dict(inner.fields))
    return found


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.token)
def test_the_table_names_only_properties_that_the_schema_has(kind: Kind) -> None:
    known = paths(dict(kind.schema.inputs)) | set(kind.schema.outputs_only)
    named = {*kind.links, *kind.names, *kind.computed, *kind.defaults, *kind.sets, *kind.zeros, *kind.update_zeros}
    named |= {*kind.always, *kind.virtual, *kind.compared_as_names}
    named |= {name for update in kind.updates for name in update.properties}
    assert {name for name in named if name not in known} - {"networkEndpoints.accessConfigs"} == set()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.token)
def test_every_property_that_changes_in_place_has_a_request_that_changes_it_or_is_said_to_have_none(kind: Kind) -> None:
    covered = {name for update in kind.updates for name in update.properties} | kind.own_properties
    changeable = {name for name, item in kind.schema.inputs.items() if not item.replaces} - covered
    # A parent that replaces only by its parts (network interfaces) counts as replaced.
    assert changeable <= NOT_CHANGED_IN_PLACE.get(kind.token, set())


# The stand-in says so in one sentence when a program changes one of these.
NOT_CHANGED_IN_PLACE = {
    "gcp:compute/disk:Disk": {"accessMode", "provisionedIops", "provisionedThroughput"},
    "gcp:compute/instance:Instance": {
        *("advancedMachineFeatures", "attachedDisks", "canIpForward", "description", "enableDisplay"),
        *("minCpuPlatform", "partnerMetadata", "resourcePolicies", "scheduling", "shieldedInstanceConfig"),
        *("workloadIdentityConfig",),
    },
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.token)
def test_what_the_sdk_calls_always_there_is_required_computed_or_has_a_default(kind: Kind) -> None:
    said = optional_in_the_sdk(kind)
    for name, item in kind.schema.inputs.items():
        if name in ALWAYS_THERE or name not in said:
            continue
        if said[name]:
            assert item.path not in kind.computed, f"{name} is not computed"
        else:
            assert item.required or item.path in kind.computed, f"{name} is computed"


def test_a_further_type_costs_a_few_lines() -> None:
    for module, kind in ((kinds_compute, "ADDRESS"), (kinds_tpu, "V2_QUEUED_RESOURCE")):
        tree = ast.parse(Path(str(module.__file__)).read_text())
        entry = next(n for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == kind)
        assert (entry.end_lineno or 0) - entry.lineno < 20


def test_a_type_from_the_schema_alone_makes_requests() -> None:
    # One of the schema's types that the stand-in does not serve, added the way that its docstring says.
    kind = Kind(
        "gcp:compute/resourcePolicy:ResourcePolicy",
        title="ResourcePolicy",
        service="compute",
        collection="projects/{project}/regions/{region}/resourcePolicies",
        links={"region": "global/regions"},
        computed=frozenset({"region"}),
        zeros={"diskConsistencyGroupPolicy": None},
    )
    scope = {"project": "demo-proj", "region": "europe-west4", "name": "wp"}
    inputs = {
        "name": "wp",
        "region": "europe-west4",
        "workloadPolicy": {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "4x4"},
    }
    # As recorded from the official plugin.
    assert body(kind, inputs, sent_at_creation(kind), kind.zeros, scope) == {
        "diskConsistencyGroupPolicy": None,
        "name": "wp",
        "region": "projects/demo-proj/global/regions/europe-west4",
        "workloadPolicy": {"acceleratorTopology": "4x4", "type": "HIGH_THROUGHPUT"},
    }
