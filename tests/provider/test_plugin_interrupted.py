"""An update that is interrupted or killed: what is left in the state is true."""

import os
import signal
import time

import psutil
import pytest
from google_stub import GoogleStub, Sent
from pulumi_project import Project
from starlette.responses import JSONResponse, Response

pytestmark = pytest.mark.pulumi
NODE = "gcp.tpu.V2Vm('pod', name='pod', runtime_version='v2-alpha-tpuv5-lite', accelerator_type='v5litepod-16')\n"
OPERATION = "projects/demo-proj/locations/europe-west4-a/operations/7"


def never_done(google: GoogleStub) -> None:
    """Every creation of a node is accepted, and its operation never ends."""

    def slow(sent: Sent) -> Response | None:
        if sent.method == "POST":
            google._answer(sent)
        elif sent.path != f"/v2alpha1/{OPERATION}":
            return None
        return JSONResponse({"name": OPERATION, "done": False})

    google.intercept = slow


def until_waiting(google: GoogleStub) -> None:
    deadline = time.monotonic() + 120
    while not any(sent.path.endswith(OPERATION) for sent in google.sent):
        assert time.monotonic() < deadline, google.sent
        time.sleep(0.1)


def plugins_of(pid: int) -> list[psutil.Process]:
    return [
        child for child in psutil.Process(pid).children(recursive=True) if "rehearsal." in " ".join(child.cmdline())
    ]


def test_an_interrupt_ends_the_wait_at_once_and_the_node_stays_in_the_state(
    project: Project, google: GoogleStub
) -> None:
    never_done(google)
    project.program(NODE)
    process = project.start("up", "--yes", "--skip-preview")
    until_waiting(google)
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert time.monotonic() - started < 20
    assert process.returncode != 0, output
    pod = project.resources()["pod"]
    assert "is still being created" in pod["initErrors"][0]
    google.intercept = lambda _: None
    project.run("destroy", "--yes", "--skip-preview")
    assert google.objects == {}


def test_a_killed_engine_leaves_a_pending_creation_and_no_process(project: Project, google: GoogleStub) -> None:
    never_done(google)
    project.program(NODE)
    process = project.start("up", "--yes", "--skip-preview")
    until_waiting(google)
    plugins = plugins_of(process.pid)
    assert len(plugins) >= 2
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    gone, alive = psutil.wait_procs(plugins, timeout=20)
    assert alive == []
    assert len(gone) == len(plugins)
    project.run("cancel", "--yes")
    pending = project.deployment()["pending_operations"]
    assert [operation["type"] for operation in pending] == ["creating"]
    assert pending[0]["resource"]["urn"].endswith("::pod")
