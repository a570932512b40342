"""The range of a stack and the subnets carved from it."""

from ipaddress import IPv4Network
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpuwright import addressing

RANGES = st.builds(
    lambda prefix, number: str(
        IPv4Network((0x0A000000 | (number << (32 - prefix)) & 0x00FFFFFF & ~((1 << (32 - prefix)) - 1), prefix))
    ),
    st.integers(8, 25),
    st.integers(0, 2**17 - 1),
)


@given(RANGES)
def test_every_place_has_a_subnet_inside_of_the_range_and_none_overlap(text):
    assert addressing.range_problem(text) is None
    whole = IPv4Network(text)
    subnets = [addressing.subnet_of(text, place) for place in range(16)]
    assert all(subnet.subnet_of(whole) for subnet in subnets)
    assert not any(a.overlaps(b) for a, b in pairwise(subnets))
    assert sum(subnet.num_addresses for subnet in subnets) == whole.num_addresses


@given(st.sets(st.sampled_from(addressing._PLACES), min_size=1), st.sampled_from(addressing._PLACES))
def test_another_region_never_moves_the_subnets_of_those_that_are_there(regions, newcomer):
    before = addressing.place_regions(sorted(regions))
    after = addressing.place_regions(sorted(regions | {newcomer}))
    assert {region: after[region] for region in before} == before
    assert len(set(after.values())) == len(after)


def test_regions_that_the_table_does_not_know_get_the_places_that_are_left():
    places = addressing.place_regions(["us-west4", "mars-north1", "me-west1"])
    assert places["us-west4"] == addressing._PLACES.index("us-west4")
    assert sorted([places["mars-north1"], places["me-west1"]]) == [13, 14]


def test_too_many_regions_that_the_table_does_not_know_are_refused_by_name():
    with pytest.raises(ValueError, match="a-b1, a-b2, a-b3, a-b4"):
        addressing.place_regions(["a-b1", "a-b2", "a-b3", "a-b4"])


@given(st.integers(1, 200_000))
def test_the_prefix_that_is_advised_holds_the_machines_and_the_next_smaller_does_not(machines):
    prefix = addressing.prefix_for(machines)
    room = 2 ** (32 - prefix - 4) - addressing.RESERVED_PER_SUBNET
    assert room >= machines
    assert (2 ** (32 - prefix - 5) - addressing.RESERVED_PER_SUBNET) < machines


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("8.8.8.0/16", "is not the beginning of a range: write '8.8.0.0/16'"),
        ("8.8.0.0/16", "is not private"),
        ("172.16.0.0/15", "overlaps 172.17.0.0/16"),
        ("172.17.4.0/22", "overlaps 172.17.0.0/16"),
        ("10.200.0.1/16", "write '10.200.0.0/16'"),
        ("10.200.0.0/26", "is too small"),
        ("10.200.0.0", "is not the beginning of a range"),
        ("fd00::/48", "is not a range of IPv4 addresses"),
        ("ten", "is not a range of IPv4 addresses"),
        ("0.0.0.0/0", "is not private"),
    ],
)
def test_a_range_that_would_not_work_is_refused_with_the_reason(text, why):
    assert why in addressing.range_problem(text)


@pytest.mark.parametrize("cidr", ["0.0.0.0/0", "::/0"])
def test_nothing_is_opened_to_the_whole_internet(cidr):
    assert "whole internet" in addressing.opening_problem(cidr)


@pytest.mark.parametrize("cidr", ["128.0.0.0/1", "203.0.0.0/15", "2001::/16", "1.2.3.4/0"])
def test_an_opening_wider_than_anybody_needs_is_refused(cidr):
    assert "would open ssh" in addressing.opening_problem(cidr)


@pytest.mark.parametrize("cidr", ["203.0.113.7/32", "203.0.0.0/16", "2001:db8::/48"])
def test_an_opening_to_ones_own_network_is_accepted(cidr):
    assert addressing.opening_problem(cidr) is None
