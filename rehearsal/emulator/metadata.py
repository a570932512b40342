"""The metadata server that hosts see at 169.254.169.254: who asks is told by the address the question comes from.

Source: https://cloud.google.com/compute/docs/metadata/querying-metadata
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import time
from collections.abc import Callable, Mapping

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from rehearsal.emulator import metadata_tree as trees

ROOT = "/computeMetadata/v1"
LONGEST_GUEST_ATTRIBUTE = 256 * 1024
"""Bytes, as on Google."""
LOOK_SECONDS = 1.0
"""How often a waiting question looks by itself for a change; `changed()` makes it look at once."""

View = Callable[[str], Mapping[str, object] | None]
"""The whole tree ({"instance": ..., "project": ...}) of the host with an address, or None."""
PutGuestAttribute = Callable[[str, str, str, str], None]
"""Called with address, namespace, key, value."""


class Metadata:
    """The application, over the trees that `view` gives and the guest attributes that `put` keeps."""

    def __init__(self, view: View, put: PutGuestAttribute) -> None:
        self._view = view
        self._put = put
        self._waiters: set[asyncio.Event] = set()
        self._closing = False
        self.app = Starlette(
            routes=[
                Route("/", self._root),
                Route("/computeMetadata{path:path}", self._get, methods=["GET"]),
                Route("/computeMetadata{path:path}", self._store, methods=["PUT", "POST"]),
            ]
        )
        # A slash more or less means something here; it is answered below.
        self.app.router.redirect_slashes = False

    def changed(self) -> None:
        """Some tree may be different: let those who wait for a change look."""
        for event in self._waiters:
            event.set()

    def open(self) -> None:
        """Let questions wait for a change."""
        self._closing = False

    def close(self) -> None:
        """Answer all that wait with what there is: the server is about to end, and they ask its successor."""
        self._closing = True
        self.changed()

    async def _root(self, _: Request) -> Response:
        return _answer("computeMetadata/\n")

    async def _get(self, request: Request) -> Response:
        refusal = _refuse(request)
        if refusal is not None:
            return refusal
        path = request.url.path
        if path in ("/computeMetadata", "/computeMetadata/"):
            return _answer("v1/\n")
        if path != ROOT and not path.startswith(ROOT + "/"):
            return _not_found()
        parts = [part for part in path.removeprefix(ROOT).split("/") if part]
        query = request.query_params
        try:
            node = self._node(request, parts)
            if query.get("wait_for_change", "").lower() == "true":
                node = await self._wait(request, parts, node)
        except trees.NoSuchPath:
            return _not_found()
        if trees.is_directory(node, parts):
            if not path.endswith("/"):
                return RedirectResponse(str(request.url.replace(path=path + "/")), status_code=301)
        elif path.endswith("/"):
            return _not_found()
        return _written(node, parts, query)

    async def _store(self, request: Request) -> Response:
        refusal = _refuse(request)
        if refusal is not None:
            return refusal
        start = f"{ROOT}/instance/guest-attributes/"
        parts = request.url.path.removeprefix(start).split("/")
        if not request.url.path.startswith(start) or len(parts) != 2 or not all(parts):
            return _problem(405, "Only instance/guest-attributes/NAMESPACE/KEY can be written.")
        try:
            tree = self._tree(request)
        except trees.NoSuchPath:
            return _not_found()
        if not _guest_attributes_enabled(tree):
            return _problem(403, "Guest attributes endpoint access is disabled.")
        value = await request.body()
        if len(value) > LONGEST_GUEST_ATTRIBUTE:
            return _problem(413, f"A guest attribute may have {LONGEST_GUEST_ATTRIBUTE} bytes.")
        assert request.client is not None
        self._put(request.client.host, parts[0], parts[1], value.decode(errors="replace"))
        self.changed()
        return _answer("")

    def _tree(self, request: Request) -> Mapping[str, object]:
        tree = self._view(request.client.host) if request.client else None
        if tree is None:
            raise trees.NoSuchPath("no host of the VPC")
        return tree

    def _node(self, request: Request, parts: list[str]) -> object:
        tree = self._tree(request)
        if parts[:2] == ["instance", "guest-attributes"] and not _guest_attributes_enabled(tree):
            raise trees.NoSuchPath("disabled")
        return trees.find(tree, parts)

    async def _wait(self, request: Request, parts: list[str], node: object) -> object:
        """The node once its ETag is not `last_etag` (default: that of now), or after `timeout_sec` as it is."""
        last = request.query_params.get("last_etag") or _etag(node, parts)
        limit = request.query_params.get("timeout_sec", "")
        deadline = time.monotonic() + int(limit) if limit.isdecimal() else None
        event = asyncio.Event()
        self._waiters.add(event)
        try:
            while _etag(node, parts) == last:
                left = LOOK_SECONDS if deadline is None else min(LOOK_SECONDS, deadline - time.monotonic())
                if self._closing or left <= 0 or await request.is_disconnected():
                    break
                event.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(event.wait(), left)
                node = self._node(request, parts)
        finally:
            self._waiters.discard(event)
        return node


def _refuse(request: Request) -> Response | None:
    if request.headers.get("metadata-flavor", "").lower() != "google":
        return _problem(403, 'Your client does not have permission: missing "Metadata-Flavor: Google" header.')
    if "x-forwarded-for" in request.headers:
        return _problem(403, "Requests with an X-Forwarded-For header are refused.")
    return None


def _written(node: object, parts: list[str], query: Mapping[str, str]) -> Response:
    recursive = query.get("recursive", "").lower() == "true"
    alt = query.get("alt", "json" if recursive else "text").lower()
    if alt not in ("json", "text"):
        return _problem(400, f"alt={alt} is neither json nor text.")
    etag = _etag(node, parts)
    if trees.is_directory(node, parts):
        if not recursive and alt == "text":
            return _answer(trees.listing(node), etag)
        if alt == "text":
            return _answer(trees.as_lines(node), etag)
        content = trees.as_json(node, parts) if recursive else trees.listing(node).split()
        return _answer(_dump(content), etag, "application/json")
    if parts and parts[-1] in trees.ONLY_BY_NAME and isinstance(node, Mapping):
        return _answer(trees.as_text(node), etag, "application/json")
    if alt == "json":
        return _answer(_dump(node), etag, "application/json")
    return _answer(trees.as_text(node, parts[-1] if parts else ""), etag)


def _guest_attributes_enabled(tree: Mapping[str, object]) -> bool:
    for part in ("instance", "project"):
        try:
            value = trees.find(tree, [part, "attributes", "enable-guest-attributes"])
        except trees.NoSuchPath:
            continue
        return str(value).lower() in ("true", "1", "y", "yes")
    return False


def _etag(node: object, parts: list[str]) -> str:
    return hashlib.sha256(_dump(trees.as_json(node, parts)).encode()).hexdigest()[:16]


def _dump(content: object) -> str:
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False)


def _answer(content: str, etag: str | None = None, media_type: str = "application/text") -> Response:
    headers = {"Metadata-Flavor": "Google", "Server": "Metadata Server for VM"}
    if etag is not None:
        headers["ETag"] = etag
    return Response(content, media_type=media_type, headers=headers)


def _not_found() -> Response:
    return _problem(404, "The requested URL was not found on this server.")


def _problem(status: int, text: str) -> Response:
    return PlainTextResponse(text + "\n", status, headers={"Metadata-Flavor": "Google"})
