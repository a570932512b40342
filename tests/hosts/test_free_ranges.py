import pytest

from rehearsal.hosts.backend import RangeCollision
from rehearsal.hosts.ranges import check_free, docker_uses, route_uses

ROUTES = """Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
tun0\t0000C80A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
"""
NETWORKS = [
    {"Name": "bridge", "IPAM": {"Config": [{"Subnet": "172.17.0.0/16"}]}},
    {"Name": "lab", "IPAM": {"Config": [{"Subnet": "10.50.0.0/24"}, {"Subnet": "fd00::/64"}]}},
    {"Name": "host", "IPAM": {"Config": None}},
]


def uses():
    return [*docker_uses(NETWORKS, {}), *route_uses(ROUTES)]


def test_a_range_that_nobody_uses_is_free():
    check_free("s", "10.201.0.0/16", uses())


@pytest.mark.parametrize(
    ("asked", "user"),
    [
        ("10.50.0.128/25", "the Docker network lab"),
        ("172.20.0.0/16", "Docker's own address pool"),
        ("192.168.4.0/24", "Docker's own address pool"),
        ("10.200.7.0/24", "a route through tun0"),
        ("192.0.0.0/8", "Docker's own address pool"),
    ],
)
def test_a_range_in_use_is_refused_in_one_sentence_that_names_the_user_and_a_free_range(asked, user):
    with pytest.raises(RangeCollision) as refusal:
        check_free("projects/p/regions/r/subnetworks/s", asked, uses())
    message = str(refusal.value)
    assert asked in message
    assert user in message
    assert "such as 10.201.0.0/16." in message
    assert "\n" not in message


def test_pools_that_the_daemon_was_given_take_the_place_of_the_built_in_ones():
    given = {"DefaultAddressPools": [{"Base": "10.77.0.0/16", "Size": 24}]}
    check_free("s", "172.20.0.0/16", docker_uses([], given))
    with pytest.raises(RangeCollision, match=r"10\.77\.0\.0/16"):
        check_free("s", "10.77.3.0/24", docker_uses([], given))


def test_the_default_route_takes_no_range():
    assert {use.user for use in route_uses(ROUTES)} == {"a route through eth0", "a route through tun0"}
