"""The stand-in under the real engine: preview, names, drift, import, secrets, errors."""

import json

import pytest
from google_stub import GoogleStub, Sent, error
from pulumi_project import Project
from starlette.responses import JSONResponse, Response

pytestmark = pytest.mark.pulumi

NODE = """
pod = gcp.tpu.V2Vm("pod", {name}runtime_version="v2-alpha-tpuv5-lite", accelerator_type={type!r},
    labels={{"a": "b"}}, metadata={{"ssh-keys": {keys}}}, opts=pulumi.ResourceOptions({opts}))
pulumi.export("endpoints", pod.network_endpoints)
pulumi.export("state", pod.state)
"""
PATH = "/v2alpha1/projects/demo-proj/locations/europe-west4-a/nodes/pod"


def node(name: str = 'name="pod", ', type: str = "v5litepod-16", keys: str = "'me:key'", opts: str = "") -> str:
    return NODE.format(name=name, type=type, keys=keys, opts=opts)


def test_a_preview_sends_nothing_and_knows_what_can_be_known(project: Project, google: GoogleStub) -> None:
    names = ["project", "accelerator_type", "name", "zone", "network_endpoints", "state", "service_account"]
    told = [f"pod.{name}.apply(lambda value: pulumi.log.info(f'{name}: {{value}}'))" for name in names]
    project.program(node() + "\n".join(told))
    shown = project.run("preview")
    assert google.take() == []
    assert "project: demo-proj" in shown
    assert "accelerator_type: v5litepod-16" in shown
    assert "name: pod" in shown
    # What only the API can say is unknown, so nothing that waits for it runs.
    assert not any(f"{name}: " in shown for name in names[3:])


def test_the_state_is_that_of_the_official_plugin(project: Project) -> None:
    project.program(node())
    project.up()
    pod = project.resources()["pod"]
    assert pod["id"] == "projects/demo-proj/locations/europe-west4-a/nodes/pod"
    outputs = pod["outputs"]
    assert outputs["name"] == "pod"
    assert outputs["zone"] == "europe-west4-a"
    assert outputs["networkEndpoints"][1] == {"accessConfigs": [], "ipAddress": "10.0.0.3", "port": 8470}
    assert outputs["labels"] == {"a": "b"}
    # Labels that the plugin makes are secret, as the provider's default labels may be.
    assert "ciphertext" in outputs["effectiveLabels"]
    shown = json.loads(project.run("stack", "export", "--show-secrets"))["deployment"]["resources"]
    labels = next(r["outputs"]["effectiveLabels"]["plaintext"] for r in shown if r["urn"].endswith("::pod"))
    assert json.loads(labels) == {"a": "b", "goog-pulumi-provisioned": "true"}
    assert project.outputs()["state"] == "READY"


def test_a_name_that_the_program_leaves_out_is_made_once_and_its_owner_replaced_before_it_goes(
    project: Project, google: GoogleStub
) -> None:
    project.program(node(name=""))
    project.up()
    first = project.resources()["pod"]["outputs"]["name"]
    assert first.startswith("pod-")
    assert len(first) == len("pod-") + 7
    google.take()
    project.up()
    assert google.take() == []
    project.program(node(name="", type="v5litepod-32"))
    project.up()
    assert [sent.method for sent in google.take()] == ["POST", "GET", "DELETE"]
    assert project.resources()["pod"]["outputs"]["name"] != first


def test_what_the_program_keeps_secret_is_encrypted_in_the_state(project: Project) -> None:
    project.program(node(keys="pulumi.Output.secret('me:very-private-text')"))
    project.up()
    everything = "".join(path.read_text() for path in (project.directory / "backend").rglob("*.json") if path.is_file())
    assert '"pod"' in everything
    assert "very-private-text" not in everything


def test_drift_is_shown_by_a_refresh_and_put_right_by_the_next_update(project: Project, google: GoogleStub) -> None:
    project.program(node())
    project.up()
    google.objects[PATH]["metadata"] = {"ssh-keys": "somebody-else:key"}
    google.objects[PATH]["labels"]["theirs"] = "stays"
    google.objects[PATH]["state"] = "PREEMPTED"
    shown = project.run("refresh", "--yes", "--skip-preview", "--diff")
    assert "somebody-else:key" in shown
    assert project.resources()["pod"]["outputs"]["state"] == "PREEMPTED"
    google.take()
    project.up()
    patch = google.take()[0]
    assert (patch.method, patch.query) == ("PATCH", "alt=json&updateMask=metadata")
    assert patch.body["metadata"] == {"ssh-keys": "me:key"}
    # A label that somebody else set is theirs.
    assert patch.body["labels"]["theirs"] == "stays"


def test_a_resource_that_is_gone_leaves_the_state_at_a_refresh(project: Project, google: GoogleStub) -> None:
    project.program(node())
    project.up()
    del google.objects[PATH]
    project.run("refresh", "--yes", "--skip-preview")
    assert "pod" not in project.resources()


def test_a_resource_is_imported_by_its_id_and_then_needs_no_change(project: Project, google: GoogleStub) -> None:
    google.objects[PATH] = {
        "name": "projects/demo-proj/locations/europe-west4-a/nodes/pod",
        "acceleratorType": "v5litepod-16",
        "runtimeVersion": "v2-alpha-tpuv5-lite",
        "labels": {"a": "b", "goog-pulumi-provisioned": "true"},
        "metadata": {"ssh-keys": "me:key"},
        "networkConfig": {"network": "projects/demo-proj/global/networks/default", "enableExternalIps": True},
        "state": "READY",
    }
    project.run(
        "import", "gcp:tpu/v2Vm:V2Vm", "pod", "europe-west4-a/pod", "--yes", "--generate-code=false", "--protect=false"
    )
    assert {sent.method for sent in google.take()} == {"GET"}
    assert project.resources()["pod"]["id"] == "projects/demo-proj/locations/europe-west4-a/nodes/pod"
    project.program(node())
    project.up()
    # The program's labels become the program's own: nothing is sent for what is there already.
    assert [sent.method for sent in google.take() if sent.method not in ("GET", "PATCH")] == []


def test_errors_of_the_api_are_shown_as_the_official_plugin_shows_them(project: Project, google: GoogleStub) -> None:
    google.intercept = lambda _: error(403, "Permission denied on 'nodes'.", "PERMISSION_DENIED", "forbidden")
    project.program(node())
    shown = project.up(fails=True)
    assert "Error creating Vm: googleapi: Error 403: Permission denied on 'nodes'., forbidden" in shown
    assert "pod" not in project.resources()


def test_an_operation_that_fails_leaves_nothing_in_the_state(project: Project, google: GoogleStub) -> None:
    def no_capacity(sent: Sent) -> Response | None:
        if sent.method != "POST":
            return None
        problem = {"code": 8, "message": 'There is no more capacity in the zone "europe-west4-a"'}
        return JSONResponse({"name": "projects/p/locations/z/operations/1", "done": True, "error": problem})

    google.intercept = no_capacity
    project.program(node())
    shown = project.up(fails=True)
    assert "Error waiting to create Vm: " in shown
    assert 'Error code 8, message: There is no more capacity in the zone "europe-west4-a"' in shown
    assert "pod" not in project.resources()
    assert not project.deployment().get("pending_operations")


def test_a_busy_api_is_asked_again_and_a_slow_operation_waited_for(project: Project, google: GoogleStub) -> None:
    answers = [error(429, "Slow down.", "RESOURCE_EXHAUSTED"), error(503, "Not now.", "UNAVAILABLE"), None]
    polls = [False, False, True]
    operation = "projects/demo-proj/locations/europe-west4-a/operations/7"

    def busy(sent: Sent) -> Response | None:
        if sent.method == "POST":
            answer = answers.pop(0)
            if answer is None:
                google._answer(sent)
                return JSONResponse({"name": operation, "done": False})
            return answer
        if sent.path == f"/v2alpha1/{operation}":
            return JSONResponse({"name": operation, "done": polls.pop(0), "response": {}})
        return None

    google.intercept = busy
    project.program(node())
    project.up()
    assert answers == []
    assert polls == []
    assert project.resources()["pod"]["outputs"]["state"] == "READY"


def test_a_first_read_that_fails_keeps_the_resource_and_says_that_it_is_half_made(
    project: Project, google: GoogleStub
) -> None:
    def unreadable(sent: Sent) -> Response | None:
        return error(403, "No reading.", "PERMISSION_DENIED") if sent.method == "GET" else None

    google.intercept = unreadable
    project.program(node())
    project.up(fails=True)
    pod = project.resources()["pod"]
    assert pod["id"].endswith("/nodes/pod")
    assert "No reading." in pod["initErrors"][0]
    google.intercept = lambda _: None
    project.run("destroy", "--yes", "--skip-preview")
    assert google.objects == {}


def test_inputs_are_refused_before_anything_is_sent(project: Project, google: GoogleStub) -> None:
    pod = "gcp.tpu.V2Vm('pod', name='pod', runtime_version='x', {})\n"
    project.program(pod.format("scheduling_config={'spott': True}"))
    shown = project.up(fails=True)
    assert "Invalid or unknown key. Examine values at 'pod.schedulingConfig.spott'." in shown
    project.program(pod.format("accelerator_type='v2-8', accelerator_config=dict(type='V4', topology='2x2x2')"))
    assert '"acceleratorConfig": conflicts with acceleratorType' in project.up(fails=True)
    assert google.take() == []


def test_a_type_that_the_stand_in_lacks_is_named_with_those_that_it_has(project: Project) -> None:
    project.program("gcp.pubsub.Topic('t', name='t')\n")
    shown = project.run("preview", fails=True)
    assert "does not know gcp:pubsub/topic:Topic" in shown
    assert "gcp:tpu/v2Vm:V2Vm" in shown


def test_a_failed_update_keeps_what_is_there_and_is_tried_again(project: Project, google: GoogleStub) -> None:
    project.program(node())
    project.up()
    google.intercept = lambda sent: error(400, "No.", "INVALID_ARGUMENT") if sent.method == "PATCH" else None
    project.program(node(keys="'me:new'"))
    shown = project.up(fails=True)
    assert "Error updating Vm" in shown
    assert project.resources()["pod"]["outputs"]["metadata"] == {"ssh-keys": "me:key"}
    google.intercept = lambda _: None
    google.take()
    project.up()
    assert google.take()[0].method == "PATCH"
    assert google.objects[PATH]["metadata"] == {"ssh-keys": "me:new"}
