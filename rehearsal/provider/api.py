"""Requests to the API: JSON over HTTP on loopback, tried again while an error may pass, ended by a cancel."""

import http.client
import json
import threading
import time
import urllib.parse
from collections.abc import Callable
from typing import Any

from rehearsal.provider.errors import Cancelled, GoogleApiError, ProviderError

Answer = dict[str, Any]

# As the official plugin: half a second, doubled, at most ten; for five minutes unless the request says else.
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 10.0
DEFAULT_TIMEOUT = 5 * 60.0
_SOCKET_TIMEOUT = 60.0
_LONGEST_IDLE = 2.0


class Api:
    """A client of one access token. Safe to use from many threads: each holds connections of its own."""

    def __init__(self, token: str, say: Callable[[str], None] = lambda _: None) -> None:
        """Args: token: sent as bearer. say: takes a line for the user's screen while a request is tried again."""
        self._token = token
        self._say = say
        self._cancelled = threading.Event()
        self._local = threading.local()

    def cancel(self) -> None:
        """End every wait, now and from now on."""
        self._cancelled.set()

    def wait(self, seconds: float) -> None:
        """Sleep.

        Raises:
            Cancelled: the engine asked to stop.
        """
        if self._cancelled.wait(seconds):
            raise Cancelled("the operation was cancelled")

    def request(
        self, method: str, url: str, body: Answer | None = None, query: str = "", timeout: float = DEFAULT_TIMEOUT
    ) -> Answer:
        """Send, and try again while the error may pass.

        Args:
            url: absolute, on loopback (`configuration` has made sure).
            query: without the question mark; `alt=json` is added, and the parameters are sorted as Go does.
            timeout: seconds after which an error that may pass is raised all the same.

        Raises:
            GoogleApiError: the API refused.
            ProviderError: nothing answers at the address.
            Cancelled: the engine asked to stop.
        """
        parameters = sorted([*urllib.parse.parse_qsl(query, keep_blank_values=True), ("alt", "json")])
        target = f"{url}?{urllib.parse.urlencode(parameters)}"
        deadline = time.monotonic() + timeout
        wait = _FIRST_WAIT
        while True:
            try:
                return self._once(method, target, body)
            except GoogleApiError as error:
                if not error.is_passing or time.monotonic() + wait > deadline:
                    raise
                self._say(f"{str(error).splitlines()[0]} (trying again in {wait:g} s)")
            except ConnectionRefusedError as error:
                raise ProviderError(f"{method} {url}: {error.strerror}") from error
            except (http.client.HTTPException, OSError) as error:
                if time.monotonic() + wait > deadline:
                    raise ProviderError(f"{method} {url}: {error!r}") from error
            self.wait(wait)
            wait = min(wait * 2, _LONGEST_WAIT)

    def _once(self, method: str, target: str, body: Answer | None) -> Answer:
        if self._cancelled.is_set():
            raise Cancelled("the operation was cancelled")
        parts = urllib.parse.urlsplit(target)
        headers = {"Authorization": f"Bearer {self._token}", "User-Agent": "tpuwright-rehearsal-gcp"}
        payload = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            payload = json.dumps(body).encode()
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        connection = self._connection(parts.netloc)
        try:
            connection.request(method, path, payload, headers)
            response = connection.getresponse()
            text = response.read().decode()
        except BaseException:
            # A half-used connection must not serve the next request.
            connection.close()
            self._local.connections.pop(parts.netloc, None)
            raise
        if not 200 <= response.status < 300:
            raise GoogleApiError(response.status, text)
        answer = json.loads(text) if text.strip() else {}
        return answer if isinstance(answer, dict) else {}

    def _connection(self, netloc: str) -> http.client.HTTPConnection:
        """A connection of this thread's; one that was idle may have been closed by the server, so it is not used."""
        connections: dict[str, tuple[http.client.HTTPConnection, float]]
        connections = self._local.__dict__.setdefault("connections", {})
        connection, used = connections.get(netloc, (None, 0.0))
        now = time.monotonic()
        if connection is None or now - used > _LONGEST_IDLE:
            if connection is not None:
                connection.close()
            connection = http.client.HTTPConnection(netloc, timeout=_SOCKET_TIMEOUT)
        connections[netloc] = (connection, now)
        return connection
