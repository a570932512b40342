"""A server that takes what the plugin sends, writes it down, and answers like Google with operations that are done.

It keeps what was posted and knows nothing: what the embedded cloud checks is tested with the embedded cloud.
"""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

TOKEN = "a-token-of-the-tests"
Answer = Response | None


@dataclass(frozen=True)
class Sent:
    """One request, as a line of the recording holds it."""

    method: str
    path: str
    query: str
    body: Any


@dataclass
class GoogleStub:
    """The state of the server. `intercept` may answer a request instead (a fault, a slow operation)."""

    endpoint: str = ""
    sent: list[Sent] = field(default_factory=list)
    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    policy: dict[str, Any] = field(default_factory=lambda: {"etag": "x", "version": 3})
    intercept: Callable[[Sent], Answer] = lambda _: None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> list[Sent]:
        """What was sent since the last call."""
        with self.lock:
            taken, self.sent = self.sent, []
        return taken

    async def serve(self, request: Request) -> Response:
        raw = await request.body()
        sent = Sent(request.method, request.url.path, request.url.query, json.loads(raw) if raw else None)
        if sent.path == "/_emulator/status":
            return JSONResponse({"project": "demo-proj"})
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return error(401, "Request had invalid authentication credentials.", "UNAUTHENTICATED")
        with self.lock:
            self.sent.append(sent)
            return self.intercept(sent) or self._answer(sent)

    def _answer(self, sent: Sent) -> Response:
        if sent.path.endswith(":getIamPolicy"):
            return JSONResponse(self.policy)
        if sent.path.endswith(":setIamPolicy"):
            self.policy = {"etag": "x", **sent.body["policy"]}
            return JSONResponse(self.policy)
        if sent.path.endswith("/services"):
            return JSONResponse({"services": [{"name": n} for n, o in self.objects.items() if o.get("enabled")]})
        if sent.path.endswith(":enable"):
            self.objects[sent.path.removesuffix(":enable").partition("/v1/")[2]] = {"enabled": True}
            return JSONResponse({"name": "operations/1", "done": True, "response": {}})
        if sent.method == "POST":
            return self._post(sent)
        if sent.path.endswith("/v1/projects/demo-proj"):
            return JSONResponse({"projectId": "demo-proj", "lifecycleState": "ACTIVE"})
        if sent.path not in self.objects:
            return error(404, f"The resource '{sent.path}' was not found", "NOT_FOUND")
        if sent.method == "PATCH":
            self.objects[sent.path].update(sent.body)
        if sent.method == "DELETE":
            del self.objects[sent.path]
        return done(sent) if sent.method in ("PATCH", "DELETE") else JSONResponse(self.objects[sent.path])

    def _post(self, sent: Sent) -> Response:
        if sent.path in self.objects or sent.path.rpartition("/")[0] in self.objects:
            return done(sent)
        if sent.path.endswith("/serviceAccounts"):
            email = f"{sent.body['accountId']}@demo-proj.iam.gserviceaccount.com"
            name = f"projects/demo-proj/serviceAccounts/{email}"
            made = {**sent.body["serviceAccount"], "email": email, "name": name, "projectId": "demo-proj"}
            self.objects[f"{sent.path}/{email}"] = {**made, "uniqueId": "1"}
            return JSONResponse(made)
        path = f"{sent.path}/{sent.body['name']}"
        if path in self.objects:
            return error(409, f"The resource '{path}' already exists", "ALREADY_EXISTS", "alreadyExists")
        self.objects[path] = {**sent.body, **self._said_by_google(path)}
        if path.rpartition("/")[0].endswith("/instances"):
            disk = path.replace("/instances/", "/disks/")
            self.objects[disk] = {**sent.body["disks"][0]["initializeParams"], "name": sent.body["name"]}
            self.objects[path]["disks"] = [{**sent.body["disks"][0], "source": self.endpoint + disk}]
        return done(sent)

    def _said_by_google(self, path: str) -> dict[str, Any]:
        if "/nodes/" in path:
            name = path.partition("/v2alpha1/")[2]
            endpoints = [{"ipAddress": f"10.0.0.{worker + 2}", "port": 8470} for worker in range(4)]
            return {"name": name, "state": "READY", "health": "HEALTHY", "networkEndpoints": endpoints}
        if "/v2alpha1/" in path:
            return {"name": path.partition("/v2alpha1/")[2]}
        status = {"status": "RUNNING"} if "/instances/" in path else {}
        return {"id": "123456", "selfLink": self.endpoint + path, **status}


def done(sent: Sent) -> Response:
    """An operation of the request's own service that has ended well."""
    if "/compute/" in sent.path:
        return JSONResponse({"name": "operation-1", "status": "DONE", "targetId": "123456"})
    return JSONResponse({"name": "projects/demo-proj/locations/z/operations/1", "done": True, "response": {}})


def error(code: int, message: str, status: str, reason: str = "") -> Response:
    """Google's error body."""
    parts = [{"message": message, "reason": reason}] if reason else []
    body = {"code": code, "message": message, "status": status} | ({"errors": parts} if parts else {})
    return JSONResponse({"error": body}, code)


@contextlib.contextmanager
def running() -> Iterator[GoogleStub]:
    """The server on a free port of loopback."""
    stub = GoogleStub()
    methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
    app = Starlette(routes=[Route("/{path:path}", stub.serve, methods=methods)])
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", ws="none"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.01)
    stub.endpoint = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    yield stub
    server.should_exit = True
    thread.join(10)
