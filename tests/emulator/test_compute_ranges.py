"""A subnetwork's range is refused where Google refuses it, in a sentence that names the range."""

from __future__ import annotations

from ipaddress import IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rehearsal.emulator.errors import ApiError
from rehearsal.emulator.services.compute import ranges


@pytest.mark.parametrize(
    "bad",
    [
        "10.0.0.1/24",
        "10.0.0.0",
        "10.0.0.0/30",
        "10.0.0.0/255.255.255.0",
        "300.0.0.0/24",
        "10.0.0.0/33",
        "fd00::/64",
        "ten",
        "127.0.0.0/24",
        "169.254.0.0/20",
        "0.0.0.0/0",
        "224.0.0.0/8",
        "199.36.153.0/24",
    ],
)
def test_a_range_that_google_does_not_allow_is_refused_naming_it(bad: str) -> None:
    with pytest.raises(ApiError) as refused:
        ranges.check_subnetwork_range(bad)
    assert f"Invalid value for field 'resource.ipCidrRange': '{bad}'" in str(refused.value)


@pytest.mark.parametrize("good", ["10.0.0.0/29", "10.0.0.0/8", "192.168.0.0/16", "172.21.12.0/24", "100.64.0.0/10"])
def test_a_private_range_from_29_bits_down_is_allowed(good: str) -> None:
    assert ranges.check_subnetwork_range(good) == IPv4Network(good)


def test_an_overlap_is_refused_naming_the_other_subnetwork_and_its_region() -> None:
    others = [("sub", "us-west4", IPv4Network("10.0.0.0/20"))]
    with pytest.raises(ApiError) as refused:
        ranges.check_no_overlap(IPv4Network("10.0.8.0/24"), others)
    assert "10.0.8.0/24 conflicts with existing subnetwork 'sub' in region 'us-west4'" in str(refused.value)
    ranges.check_no_overlap(IPv4Network("10.0.16.0/24"), others)


@pytest.mark.parametrize("new", ["10.0.0.0/25", "10.0.1.0/24", "11.0.0.0/8"])
def test_a_range_never_shrinks_or_moves(new: str) -> None:
    with pytest.raises(ApiError, match="superset"):
        ranges.check_expansion(IPv4Network("10.0.0.0/24"), IPv4Network(new))


def test_a_range_may_grow_to_either_side() -> None:
    ranges.check_expansion(IPv4Network("172.21.12.0/24"), IPv4Network("172.21.8.0/21"))


@given(st.text(alphabet="0123456789./abcdef:", max_size=24))
def test_no_text_breaks_the_check_of_ranges(text: str) -> None:
    try:
        network = ranges.check_subnetwork_range(text)
    except ApiError:
        return
    assert ranges.gateway_of(network) in network
