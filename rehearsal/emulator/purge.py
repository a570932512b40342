"""`tpuwright emulator stop --purge`: everything that the emulator made is deleted, its state at last."""

from __future__ import annotations

import asyncio

from rehearsal.emulator import daemon as daemons
from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.server import open_cloud
from rehearsal.hosts.backend import HostsError
from rehearsal.paths import RehearsalPaths
from tpuwright.errors import TpuwrightError


def purge_all(paths: RehearsalPaths) -> list[str]:
    """Stop the emulator, delete hosts, networks and state. Returns what could not be deleted.

    Raises TpuwrightError when the Docker engine does not answer; nothing is forgotten then.
    """
    daemons.stop(paths)
    before = daemons.last(paths)
    if before is not None:
        try:
            left = asyncio.run(_empty(open_cloud(paths, before.hosts, before.project)))
        except HostsError as trouble:
            raise TpuwrightError(str(trouble)) from trouble
        if left:
            return left
    database = [paths.database.with_name(paths.database.name + end) for end in ("", "-wal", "-shm")]
    for file in (*database, paths.daemon, paths.token, paths.log, paths.lock):
        file.unlink(missing_ok=True)
    return []


async def _empty(cloud: Cloud) -> list[str]:
    try:
        await cloud.reset()
        return await cloud.hosts.leftovers()
    finally:
        await cloud.stop()
