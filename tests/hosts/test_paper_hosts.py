import asyncio

import pytest

from rehearsal.hosts.backend import HostsBackend, HostsError, HostSpec, HostState, RangeCollision, SubnetworkSpec
from rehearsal.hosts.paper_hosts import PaperHosts

SUBNETWORK = SubnetworkSpec("s", "n", "10.9.0.0/24")
HOST = HostSpec("h", "host", "z", "s", "10.9.0.2")


async def one_host() -> PaperHosts:
    hosts = PaperHosts()
    await hosts.prepare_subnetwork(SUBNETWORK)
    await hosts.create(HOST)
    return hosts


def test_states_follow_what_is_asked():
    async def life() -> list[HostState]:
        hosts: HostsBackend = await one_host()
        seen = []
        for step in (hosts.stop, hosts.start, hosts.kill, hosts.restart):
            await step("h")
            seen.append((await hosts.states())["h"])
        return seen

    assert asyncio.run(life()) == [HostState.STOPPED, HostState.RUNNING, HostState.DEAD, HostState.RUNNING]


def test_a_death_is_reported_once():
    async def deaths() -> list[str]:
        hosts = await one_host()
        told: list[str] = []

        async def callback(key: str) -> None:
            told.append(key)

        hosts.on_death(callback)
        await hosts.kill("h")
        await hosts.kill("h")
        return told

    assert asyncio.run(deaths()) == ["h"]


def test_overlapping_subnetworks_and_taken_addresses_are_refused():
    async def collide() -> None:
        hosts = await one_host()
        with pytest.raises(RangeCollision):
            await hosts.prepare_subnetwork(SubnetworkSpec("t", "n", "10.9.0.0/16"))
        with pytest.raises(HostsError, match=r"address 10\.9\.0\.2, which h has"):
            await hosts.create(HostSpec("other", "host2", "z", "s", "10.9.0.2"))

    asyncio.run(collide())


def test_what_was_not_deleted_is_left_over():
    async def left() -> tuple[list[str], list[str]]:
        hosts = await one_host()
        before = await hosts.leftovers()
        with pytest.raises(HostsError, match="still has hosts"):
            await hosts.remove_subnetwork("s")
        await hosts.delete("h")
        await hosts.remove_subnetwork("s")
        return before, await hosts.leftovers()

    assert asyncio.run(left()) == (["host h", "network s"], [])
