"""The emulator as a process: `python -m rehearsal.emulator.server`, started by `tpuwright emulator start`."""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import logging
import os
import socket
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import uvicorn

from rehearsal.emulator.app import create_app
from rehearsal.emulator.auth import Tokens, token_from
from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.daemon import DEFAULT_PORT, DEFAULT_PROJECT, HOST, Daemon
from rehearsal.emulator.iap import IapRelay
from rehearsal.emulator.iap_directory import CloudDirectory
from rehearsal.emulator.metadata import Metadata
from rehearsal.emulator.metadata_server import DEFAULT_PORT as METADATA_PORT
from rehearsal.emulator.metadata_server import MetadataListeners
from rehearsal.emulator.store import Store
from rehearsal.hosts.backend import HostsBackend, HostsError
from rehearsal.hosts.paper_hosts import PaperHosts
from rehearsal.paths import RehearsalPaths
from tpuwright.errors import TpuwrightError

log = logging.getLogger(__name__)
GRACE_SECONDS = 5
"""How long open requests may go on after a SIGTERM."""


def make_hosts(kind: str, paths: RehearsalPaths) -> HostsBackend:
    """The backend called "docker" or "paper". Raises HostsError."""
    if kind == "paper":
        return PaperHosts()
    from rehearsal.hosts.docker_hosts import DockerHosts

    return DockerHosts(paths.name, METADATA_PORT)


def open_cloud(paths: RehearsalPaths, kind: str, project: str) -> Cloud:
    """The cloud whose state is kept under `paths`. Raises HostsError when its hosts cannot be had."""
    hosts = make_hosts(kind, paths)
    return Cloud(Store(paths.database), hosts, Tokens(token_from(paths.token)), project)


def run(paths: RehearsalPaths, *, port: int, hosts: str, project: str, strict: bool = False) -> None:
    """Serve until a SIGTERM or SIGINT. Raises TpuwrightError when the port or the directory is taken."""
    paths.make()
    with _only_one(paths), _listen(port) as listener:
        try:
            cloud = open_cloud(paths, hosts, project)
        except HostsError as trouble:
            raise TpuwrightError(str(trouble)) from trouble
        asyncio.run(_serve(cloud, listener, paths, hosts, strict=strict))


async def _serve(cloud: Cloud, listener: socket.socket, paths: RehearsalPaths, hosts: str, *, strict: bool) -> None:
    metadata = Metadata(cloud.metadata_of, cloud.put_guest_attribute)
    listeners = MetadataListeners(metadata)
    cloud.metadata_listener = listeners.listen
    relay = IapRelay(CloudDirectory(cloud))
    app = create_app(cloud, strict=strict, extra_routes=relay.routes)
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
            # gcloud's IAP client takes a ping for an error and hangs up.
            ws_ping_interval=None,
        )
    )
    port = listener.getsockname()[1]
    daemon = Daemon(
        pid=os.getpid(),
        port=port,
        endpoint=f"http://{HOST}:{port}",
        iap_endpoint=f"ws://{HOST}:{port}/v4",
        project=cloud.project,
        hosts=hosts,
        rehearsal=paths.name,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.02)
    if server.started:
        daemon.write(paths)
        log.info("serving %s, project %s, hosts %s", daemon.endpoint, daemon.project, hosts)
    await serving
    await relay.close()
    await listeners.close()
    if not server.started:
        raise TpuwrightError(f"The emulator could not take up its state again; {paths.log} says why.")
    # Port and project stay known, so that the next start is the same cloud.
    daemon.model_copy(update={"pid": None}).write(paths)


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise TpuwrightError(
            f"The emulator cannot listen on {HOST}:{port} ({os.strerror(error.errno or 0)}): "
            "stop the program that does, or choose another port with --port."
        ) from error
    listener.listen(128)
    return listener


def _only_one(paths: RehearsalPaths) -> IO[str]:
    """An open file whose lock is held as long as it is open."""
    handle = paths.lock.open("w", encoding="ascii")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        handle.close()
        raise TpuwrightError(
            f"Another emulator uses {paths.root} already: `tpuwright emulator status` shows it, "
            "`tpuwright emulator stop` ends it."
        ) from None
    return handle


def main() -> None:
    """The daemon's entry: messages go to stderr, which `tpuwright emulator start` makes the log file."""
    parser = argparse.ArgumentParser(description="The embedded cloud of tpuwright")
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--port", type=int, default=DEFAULT_PORT)
    parser.add_argument("--hosts", choices=("docker", "paper"), default="docker")
    parser.add_argument("--project", default=DEFAULT_PROJECT)
    parser.add_argument("--strict", action="store_true", help="answers that Google's documents do not allow fail")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        run(
            RehearsalPaths(options.directory),
            port=options.port,
            hosts=options.hosts,
            project=options.project,
            strict=options.strict,
        )
    except TpuwrightError as error:
        # The last line of the log is what the user is told.
        print(error, file=sys.stderr, flush=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
