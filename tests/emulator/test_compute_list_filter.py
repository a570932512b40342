"""A list filter selects what Google's would, and never breaks on what is no filter."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rehearsal.emulator.errors import ApiError
from rehearsal.emulator.services.compute import list_filter

RESOURCE: dict[str, Any] = {
    "name": "bastion",
    "status": "RUNNING",
    "labels": {"stack": "rehearsal"},
    "sizeGb": "10",
    "deletionProtection": False,
    "networkInterfaces": [{"networkIP": "10.0.0.2"}],
}


@pytest.mark.parametrize(
    "text",
    [
        "name=bastion",
        "name = 'bastion'",
        'name eq "bas.*"',
        "name:bast*",
        "name=bas*",
        "(status = RUNNING) (labels.stack = rehearsal)",
        "name = other OR status = RUNNING",
        "name != other AND sizeGb > 9",
        "labels.stack:*",
        "NOT name = other",
        "-(name = other)",
        "deletionProtection = false",
        "networkInterfaces.networkIP = 10.0.0.2",
        "name ne other",
    ],
)
def test_a_filter_that_holds_selects_the_resource(text: str) -> None:
    assert list_filter.parse(text)(RESOURCE)


@pytest.mark.parametrize(
    "text", ["name=bast", "name eq bast", "labels.owner:*", "sizeGb < 9", "status = RUNNING AND name = other"]
)
def test_a_filter_that_does_not_hold_leaves_the_resource_out(text: str) -> None:
    assert not list_filter.parse(text)(RESOURCE)


@pytest.mark.parametrize("text", ["name", "=", "name =", "(name = a", "name = a)", "name eq '['", "name ~ a"])
def test_what_is_no_filter_is_refused_naming_it(text: str) -> None:
    with pytest.raises(ApiError, match="Invalid list filter expression"):
        list_filter.parse(text)


@given(st.text(alphabet="abn=!<>:()'\"\\* -.ANDORT", max_size=60))
def test_no_text_at_all_breaks_the_reading_of_filters(text: str) -> None:
    try:
        predicate = list_filter.parse(text)
    except ApiError:
        return
    assert predicate(RESOURCE) in (True, False)
