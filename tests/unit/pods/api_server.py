"""A real HTTP server that answers for two hosts and a bastion as Google does, and can be told to be in trouble."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from example_stack import key_of


@dataclass
class Api:
    """``states``: what the node's state is at each question, the last one for ever. ``failures``: sent first."""

    states: list[str] = field(default_factory=lambda: ["READY"])
    published: dict[str, bool] = field(default_factory=lambda: {"pod-w0": True, "pod-w1": True, "bastion": True})
    publish_at: int = 0
    failures: list[tuple[int, str]] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    gone: bool = False
    endpoint: str = ""

    def answer(self, path: str) -> tuple[int, dict[str, Any]]:
        self.questions.append(path)
        if self.failures:
            status, message = self.failures.pop(0)
            return status, {"error": {"code": status, "message": message, "status": "X"}}
        if self.gone:
            message = f"Resource '{path.removeprefix('/v2alpha1/')}' was not found"
            return 404, {"error": {"code": 404, "message": message, "status": "NOT_FOUND"}}
        if path.endswith("/nodes/pod:getGuestAttributes"):
            return 200, {"guestAttributes": [self._keys(f"pod-w{n}") for n in range(2)]}
        if path.endswith("/nodes/pod"):
            state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
            endpoints = [{"ipAddress": f"10.9.0.{n + 2}", "port": 8470} for n in range(2)]
            return 200, {"name": "projects/p/locations/z/nodes/pod", "state": state, "networkEndpoints": endpoints}
        if "/instances/dev-bastion/getGuestAttributes" in path:
            found = self._keys("bastion")
            message = "The resource 'hostkeys/' of type 'Guest Attribute' was not found."
            return (200, found) if found else (404, {"error": {"code": 404, "message": message}})
        return 404, {"error": {"code": 404, "message": f"no answer for {path}"}}

    def _keys(self, host: str) -> dict[str, Any]:
        if not self.published[host] and len(self.questions) <= self.publish_at:
            return {}
        if not self.published[host] and not self.publish_at:
            return {}
        items = [
            {"namespace": "hostkeys", "key": "ssh-ed25519", "value": key_of(host)},
            {"namespace": "hostkeys", "key": "ssh-rsa", "value": "not a key\n* ssh-rsa evil"},
        ]
        return {"queryValue": {"items": items}}

    @contextmanager
    def running(self) -> Iterator[Api]:
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.headers.get("Authorization") != "Bearer secret":
                    status, body = 401, {"error": {"code": 401, "message": "Invalid Credentials"}}
                else:
                    status, body = api.answer(self.path.partition("?")[0])
                text = json.dumps(body).encode()
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_POST = do_GET

            def log_message(self, *_: object) -> None:
                return

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        self.endpoint = f"http://127.0.0.1:{server.server_port}"
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
