"""Long-running operations of TPU and Compute: stored, resumed after a restart, rendered as each API does."""

from __future__ import annotations

import asyncio
import logging
import secrets
from typing import TYPE_CHECKING, Literal

from rehearsal.emulator.background import WORK, Task
from rehearsal.emulator.errors import ApiError
from rehearsal.emulator.handlers import Call, Json
from rehearsal.hosts.backend import HostsError

if TYPE_CHECKING:
    from rehearsal.emulator.cloud import Cloud

log = logging.getLogger(__name__)
KIND = "operation"


class Operations:
    """Begins operations, runs their work and ends them. Their documents are of kind "operation"."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self._running: dict[str, asyncio.Task[None]] = {}
        self._ended: dict[str, asyncio.Event] = {}
        self.halting = False
        """True while all work is being stopped to be resumed later: cancelled work then undoes nothing."""

    def begin_tpu(
        self,
        call: Call,
        parent: str,
        verb: str,
        target: str,
        work: str | None = None,
        args: Json | None = None,
        response_type: str | None = None,
    ) -> Json:
        """Begin a TPU operation and return it as the API does.

        `parent` is "projects/P/locations/Z". The work's result becomes `response`, typed
        "google.cloud.tpu.VERSION.<response_type>", or google.protobuf.Empty without a type.
        """
        name = f"{parent}/operations/{_operation_id(self._cloud)}"
        body = self._new("tpu", call, target, work, args)
        body |= {"verb": verb, "responseType": response_type}
        return self._begin(name, body, call.base_url)

    def begin_compute(
        self,
        call: Call,
        scope: str,
        operation_type: str,
        target: str,
        work: str | None = None,
        args: Json | None = None,
        target_id: str | None = None,
    ) -> Json:
        """Begin a Compute operation and return it as the API does.

        `scope` is "projects/P/global", "projects/P/regions/R" or "projects/P/zones/Z". Without `work` the
        operation ends by itself after `timings.compute` seconds; with no such time it is DONE at once.
        """
        name = f"{scope}/operations/{_operation_id(self._cloud)}"
        body = self._new("compute", call, target, work, args)
        body |= {"operationType": operation_type, "targetId": target_id or number_of(target), "scope": scope}
        return self._begin(name, body, call.base_url)

    def render(self, name: str, body: Json, base_url: str) -> Json:
        """A stored operation as its API shows it."""
        return _render_compute(name, body, base_url) if body["style"] == "compute" else _render_tpu(name, body)

    async def wait(self, name: str, seconds: float) -> None:
        """Return when the operation has ended, or after some seconds."""
        event = self._ended.get(name)
        if event is not None:
            try:
                await asyncio.wait_for(event.wait(), seconds)
            except TimeoutError:
                return

    def cancel(self, name: str) -> None:
        """Stop an operation's work; it ends with error 1, "Operation cancelled"."""
        task = self._running.get(name)
        if task is not None:
            self._cloud.store.update(name, cancelRequested=True)
            task.cancel()

    def running_on(self, target: str) -> list[str]:
        """Names of the operations that work on a resource now, oldest first."""
        found = self._cloud.store.list(KIND)
        mine = [(body["created"], name) for name, body in found if body["target"] == target]
        return [name for _, name in sorted(mine) if name in self._running]

    def resume(self) -> None:
        """After a start: take up every operation that had not ended when the last emulator did."""
        for name, body in self._cloud.store.list(KIND):
            if body["status"] != "DONE":
                self._launch(name, body)

    async def settle(self) -> None:
        """Wait until no operation runs (for tests and for a graceful stop)."""
        while self._running:
            await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def halt(self) -> None:
        """Stop all work where it is; the operations stay unfinished, and are resumed at the next start."""
        tasks = list(self._running.values())
        self.halting = True
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._running.clear()
        self.halting = False

    def _new(
        self, style: Literal["tpu", "compute"], call: Call, target: str, work: str | None, args: Json | None
    ) -> Json:
        if work is not None and work not in WORK:
            raise ValueError(f"No background work is registered as {work}.")
        return {
            "style": style,
            "version": call.version,
            "target": target,
            "work": work,
            "args": args or {},
            "status": "PENDING",
            "created": self._cloud.clock.timestamp(),
            "user": call.caller,
        }

    def _begin(self, name: str, body: Json, base_url: str) -> Json:
        self._cloud.store.insert(KIND, name, body)
        if body["work"] is None and not (body["style"] == "compute" and self._cloud.settings.timings.compute):
            self._end(name, None, None)
        else:
            self._launch(name, body)
        return self.render(name, self._cloud.store.get(name) or body, base_url)

    def _launch(self, name: str, body: Json) -> None:
        if body["work"] is not None and body["work"] not in WORK:
            interrupted = "The emulator was restarted by a version that does not know this work; ask again."
            self._end(name, None, ApiError(409, interrupted, status="ABORTED"))
            return
        self._ended[name] = asyncio.Event()
        self._running[name] = task = asyncio.create_task(self._run(name, body), name=name)
        task.add_done_callback(lambda done: self._ended_early(name, done))

    def _ended_early(self, name: str, task: asyncio.Task[None]) -> None:
        # Cancelled before its first step: _run never saw it.
        if task.cancelled() and not self.halting and self._running.pop(name, None) is not None:
            self._end(name, None, ApiError(499, "Operation cancelled", status="CANCELLED"))

    async def _run(self, name: str, body: Json) -> None:
        cloud, response, error = self._cloud, None, None
        cloud.store.update(name, status="RUNNING", started=body.get("started") or cloud.clock.timestamp())
        try:
            if body["style"] == "compute":
                await cloud.clock.sleep(cloud.settings.timings.compute)
            if body["work"] is not None:
                response = await WORK[body["work"]](Task(name, body["target"], body["args"]), cloud)
        except asyncio.CancelledError:
            if self.halting:
                raise
            error = ApiError(499, "Operation cancelled", status="CANCELLED")
        except ApiError as refused:
            error = refused
        except HostsError as trouble:
            error = ApiError(400, str(trouble), status="FAILED_PRECONDITION")
        except Exception:
            log.exception("operation %s on %s failed", name, body["target"])
            error = ApiError(500, "Internal error encountered; the emulator's log has the reason.")
        self._running.pop(name, None)
        self._end(name, response, error)

    def _end(self, name: str, response: Json | None, error: ApiError | None) -> None:
        failure = None
        if error is not None:
            failure = {
                "code": error.http_code,
                "status": error.status,
                "rpcCode": error.rpc_code,
                "reason": error.reason,
                "message": error.message,
            }
        self._cloud.store.update(
            name, status="DONE", ended=self._cloud.clock.timestamp(), response=response, error=failure
        )
        event = self._ended.pop(name, None)
        if event is not None:
            event.set()


def number_of(name: str) -> str:
    """A stable 18-digit number for a resource that has none of its own."""
    value = 14695981039346656037
    for byte in name.encode():
        value = ((value ^ byte) * 1099511628211) % 2**64
    return str(10**17 + value % (9 * 10**17))


def _operation_id(cloud: Cloud) -> str:
    milliseconds = int(cloud.clock.now().timestamp() * 1000)
    random = secrets.token_hex(14)
    return f"operation-{milliseconds}-{random[:13]}-{random[13:21]}-{random[20:28]}"


def _render_tpu(name: str, body: Json) -> Json:
    package = f"type.googleapis.com/google.cloud.tpu.{body['version']}"
    metadata = {
        "@type": f"{package}.OperationMetadata",
        "createTime": body["created"],
        "target": body["target"],
        "verb": body["verb"],
        "cancelRequested": body.get("cancelRequested", False),
        "apiVersion": body["version"],
    }
    if "ended" in body:
        metadata["endTime"] = body["ended"]
    shown: Json = {"name": name, "metadata": metadata, "done": body["status"] == "DONE"}
    if body.get("error"):
        shown["error"] = {"code": body["error"]["rpcCode"], "message": body["error"]["message"]}
    elif body["status"] == "DONE":
        kind = body.get("responseType")
        tag = f"{package}.{kind}" if kind else "type.googleapis.com/google.protobuf.Empty"
        shown["response"] = {"@type": tag, **(body.get("response") or {})}
    return shown


def _render_compute(name: str, body: Json, base_url: str) -> Json:
    scope, _, short = name.partition("/operations/")
    shown: Json = {
        "kind": "compute#operation",
        "id": number_of(name),
        "name": short,
        "operationType": body["operationType"],
        "targetLink": base_url + body["target"],
        "targetId": body["targetId"],
        "status": body["status"],
        "user": body["user"],
        "progress": {"PENDING": 0, "RUNNING": 50, "DONE": 100}[body["status"]],
        "insertTime": _milliseconds(body["created"]),
        "startTime": _milliseconds(str(body.get("started", body["created"]))),
        "selfLink": base_url + name,
    }
    place, _, where = scope.split("/", 2)[2].partition("/")
    if place in {"zones", "regions"}:
        shown[place[:-1]] = f"{base_url}{scope.split('/')[0]}/{scope.split('/')[1]}/{place}/{where}"
    if "ended" in body:
        shown["endTime"] = _milliseconds(body["ended"])
    if body.get("error"):
        error = body["error"]
        code = error["reason"] if error["reason"].isupper() else error["status"]
        shown["error"] = {"errors": [{"code": code, "message": error["message"]}]}
        shown["httpErrorStatusCode"] = error["code"]
        shown["httpErrorMessage"] = error["message"]
    return shown


def _milliseconds(timestamp: str) -> str:
    # Compute writes milliseconds and an offset where the other APIs write microseconds and Z.
    return timestamp[:23] + "+00:00"
