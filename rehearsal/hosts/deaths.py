"""Watches the engine for hosts that end. One thread for a backend, as the engine's event stream blocks."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from docker.errors import DockerException
from requests.exceptions import RequestException

from rehearsal.hosts import labels
from rehearsal.hosts.backend import EngineUnavailable
from rehearsal.hosts.engine import connect

log = logging.getLogger(__name__)
REBOOT_STATUS = 129
"""Exit status of a container whose guest asked for a reboot: the kernel ends its init by SIGHUP (reboot(2))."""
_RECONNECT_SECONDS = 1.0

Ended = Callable[[str, int], None]
"""Called with key and exit status."""


class DeathWatch:
    """Calls `ended` for each host that ends, and `reconnected` when deaths may have been missed."""

    def __init__(self, rehearsal: str, ended: Ended, reconnected: Callable[[], None]) -> None:
        self._rehearsal = rehearsal
        self._ended = ended
        self._reconnected = reconnected
        self._stopping = threading.Event()
        self._stream: Any = None
        self._thread = threading.Thread(target=self._run, name="deaths of hosts", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop watching."""
        self._stopping.set()
        stream = self._stream
        if stream is not None:
            with suppress(DockerException, OSError, AttributeError):
                stream.close()
        self._thread.join(timeout=5)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                for event in self._events():
                    attributes = event["Actor"]["Attributes"]
                    self._ended(attributes[labels.KEY], int(attributes.get("exitCode", -1)))
            except (EngineUnavailable, DockerException, RequestException, OSError, ValueError) as error:
                if not self._stopping.is_set():
                    log.warning("the Docker engine's events ended: %s", error)
            self._stopping.wait(_RECONNECT_SECONDS)

    def _events(self) -> Iterator[dict[str, Any]]:
        client = connect()
        try:
            filters = {"type": "container", "event": "die", **labels.query(self._rehearsal)}
            self._stream = client.events(decode=True, filters=filters)
            if self._stopping.is_set():
                # Closed while this thread was still connecting: nobody would close the stream any more.
                return
            # Only now: what dies from here on is in the stream.
            self._reconnected()
            yield from self._stream
        finally:
            client.close()
