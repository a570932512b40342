"""The HTTP face: a request in, checked, dispatched to its handler, the answer checked, out."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rehearsal.emulator import discovery
from rehearsal.emulator.admin import admin_routes
from rehearsal.emulator.cloud import Cloud
from rehearsal.emulator.errors import ApiError, invalid, not_found, unauthenticated
from rehearsal.emulator.faults import raise_fault
from rehearsal.emulator.handlers import BEFORE_HANDLING, HANDLERS, Call
from rehearsal.emulator.messages import (
    ResponseMismatch,
    check_path,
    check_query,
    check_request,
    check_response,
)
from rehearsal.emulator.partial_response import parse_fields, select
from rehearsal.emulator.services import load_handlers
from rehearsal.hosts.backend import HostsError

log = logging.getLogger(__name__)
_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
MAX_BODY = 8 * 2**20


def create_app(cloud: Cloud, *, strict: bool = True, extra_routes: Sequence[BaseRoute] = ()) -> Starlette:
    """The ASGI application of an embedded cloud.

    With `strict` an answer that Google's discovery document does not allow becomes a 500 that names the
    difference; without, it is logged and sent.
    """
    load_handlers()
    api = Api(cloud, strict=strict)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        await cloud.start()
        yield
        await cloud.stop()

    return Starlette(
        routes=[
            *admin_routes(cloud),
            *extra_routes,
            Route("/{path:path}", api.serve, methods=_METHODS),
        ],
        lifespan=lifespan,
    )


def caller_of(cloud: Cloud, authorization: str | None) -> str:
    """Whose bearer token a header shows. Raises ApiError 401."""
    scheme, _, token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise unauthenticated(missing=True)
    caller = cloud.tokens.caller(token.strip())
    if caller is None:
        raise unauthenticated(missing=False)
    return caller


def json_response(body: object, code: int = 200) -> Response:
    """JSON as Google sends it."""
    headers = {"WWW-Authenticate": 'Bearer realm="https://accounts.google.com/"'} if code == 401 else None
    return Response(
        json.dumps(body, indent=2) + "\n", code, headers=headers, media_type="application/json; charset=UTF-8"
    )


class Api:
    """Dispatch by Google's discovery documents."""

    def __init__(self, cloud: Cloud, *, strict: bool) -> None:
        self._cloud = cloud
        self._strict = strict
        self._handled = frozenset(HANDLERS)

    async def serve(self, request: Request) -> Response:
        began = time.perf_counter()
        raw_path = request.scope.get("raw_path", request.url.path.encode()).decode("latin-1").partition("?")[0]
        service = discovery.service_of(raw_path)
        try:
            response = json_response(await self._answer(request, raw_path))
        except ApiError as error:
            response = json_response(error.body(service), error.http_code)
        except HostsError as trouble:
            # What this machine cannot do is told to the caller: there is nobody else who could mend it.
            refusal = ApiError(400, str(trouble), status="FAILED_PRECONDITION", reason="failedPrecondition")
            response = json_response(refusal.body(service), 400)
        except ResponseMismatch as mismatch:
            log.error("emulator bug: %s", mismatch)
            response = json_response(ApiError(500, f"Emulator bug: {mismatch}").body(service), 500)
        except Exception:
            log.exception("%s %s", request.method, raw_path)
            internal = ApiError(500, "Internal error encountered; the emulator's log has the reason.")
            response = json_response(internal.body(service), 500)
        milliseconds = (time.perf_counter() - began) * 1000
        log.info("%s %s %d %.0f ms", request.method, raw_path, response.status_code, milliseconds)
        return response

    async def _answer(self, request: Request, raw_path: str) -> object:
        caller = caller_of(self._cloud, request.headers.get("authorization"))
        # Reading Compute's document takes a second: not on the loop's thread, where hosts are watched.
        match = await run_in_threadpool(discovery.find, request.method, raw_path, self._handled)
        if match is None:
            raise not_found(f"The requested URL {raw_path} was not found on this server.")
        raise_fault(self._cloud, match.method.id)
        registered = HANDLERS.get(match.method.id)
        if registered is None:
            raise ApiError(501, f"{match.method.id} is not emulated (see docs/fidelity.md for what is).")
        for check in BEFORE_HANDLING:
            check(self._cloud, match.document.id.service)
        check_path(match)
        call = Call(
            method_id=match.method.id,
            service=match.document.id.service,
            version=match.document.id.version,
            base_url=f"{request.url.scheme}://{request.url.netloc}/{match.base_path}",
            path=match.path,
            query=check_query(match, request.query_params.multi_items()),
            body=check_request(match, await _body(request)),
            caller=caller,
        )
        fields = request.query_params.get("fields") or request.query_params.get("$fields")
        selection = parse_fields(fields) if fields else {}
        answer = await registered.handler(call, self._cloud)
        try:
            check_response(match, answer)
        except ResponseMismatch as mismatch:
            if self._strict:
                raise
            log.error("emulator bug: %s", mismatch)
        return select(answer, selection)


async def _body(request: Request) -> object:
    raw = await request.body()
    if len(raw) > MAX_BODY:
        raise ApiError(413, "Request payload size exceeds the limit: 8388608 bytes.", status="INVALID_ARGUMENT")
    if not raw.strip():
        return None
    try:
        return json.loads(raw, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as problem:
        raise invalid(f"Invalid JSON payload received. {problem}") from None


def _refuse_constant(word: str) -> object:
    raise ValueError(f"Unexpected token. {word}")
