"""Every way in which a client may name a resource leads to one full name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rehearsal.emulator.errors import ApiError
from rehearsal.emulator.services.compute import references

SUBNETWORK = "projects/p/regions/us-west4/subnetworks/s"


@pytest.mark.parametrize(
    "form",
    [
        "s",
        "regions/us-west4/subnetworks/s",
        "projects/p/regions/us-west4/subnetworks/s",
        "/projects/p/regions/us-west4/subnetworks/s",
        "https://www.googleapis.com/compute/v1/projects/p/regions/us-west4/subnetworks/s",
        "https://compute.googleapis.com/compute/beta/projects/p/regions/us-west4/subnetworks/s",
        "http://127.0.0.1:8778/compute/beta/projects/p/regions/us-west4/subnetworks/s",
    ],
)
def test_every_form_of_a_subnetwork_is_one_full_name(form: str) -> None:
    found = references.resolve(form, references.SUBNETWORKS, project="p", place="us-west4", field="f")
    assert found == SUBNETWORK


def test_a_reference_keeps_its_own_project_and_region() -> None:
    form = "projects/other/regions/us-east1/subnetworks/s"
    found = references.resolve(form, references.SUBNETWORKS, project="p", place="us-west4", field="f")
    assert found == form


@pytest.mark.parametrize(
    "form",
    [
        "us-west4",
        "regions/us-west4",
        "projects/p/regions/us-west4",
        "projects/p/global/regions/us-west4",
        "https://www.googleapis.com/compute/v1/projects/p/regions/us-west4",
        "http://127.0.0.1:8778/compute/beta/projects/p/global/regions/us-west4",
    ],
)
def test_every_form_of_a_region_is_one_bare_name_even_the_global_one_of_the_official_plugin(form: str) -> None:
    assert references.resolve_place(form, "regions", field="f") == "us-west4"


@pytest.mark.parametrize(
    "form",
    ["", "/", "projects/p/global/networks/n", "regions/us-west4/subnetworks/", "a/b", "https://example.com/x/y"],
)
def test_a_reference_to_something_else_is_refused_naming_the_field(form: str) -> None:
    with pytest.raises(ApiError) as refused:
        references.resolve(form, references.SUBNETWORKS, project="p", place="us-west4", field="resource.subnetwork")
    assert "'resource.subnetwork'" in str(refused.value)


@given(st.text(max_size=80))
def test_no_text_at_all_breaks_the_reading_of_references(text: str) -> None:
    try:
        found = references.resolve(text, references.NETWORKS, project="p", field="f")
    except ApiError:
        return
    assert "/global/networks/" in found


def test_the_region_of_a_zone_is_what_stands_before_its_last_dash() -> None:
    assert references.region_of("us-central1-ai1a") == "us-central1"
