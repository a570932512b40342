"""What Google, the provider and the engine say, in plain words. The texts are theirs."""

from __future__ import annotations

import json

import pytest

from tpuwright.cloud.errors import explain, from_text, recognise

STOCKOUT = (
    "error: 1 error occurred:\n\t* Error waiting to create Vm: Error waiting for Creating Vm: Error code 8, message: "
    'There is no more capacity in the zone "us-west4-a"; you can try in another zone where Cloud TPU Nodes are offered'
)
NOT_ENABLED = (
    "googleapi: Error 403: Cloud TPU API has not been used in project my-project before or it is disabled. Enable it "
    "by visiting https://console.developers.google.com/apis/api/tpu.googleapis.com/overview?project=my-project then "
    "retry."
)
RATE = (
    "Error 429: Quota exceeded for quota metric 'TPU API requests' and limit 'TPU API requests per minute' of service "
    "'tpu.googleapis.com' for consumer 'project_number:1'."
)


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        (STOCKOUT, "no_capacity", ["us-west4-a", "tpuwright:pods[].zones"]),
        ("Error code 8, message: Insufficient reserved capacity", "no_reserved_capacity", ["reservation"]),
        (
            "googleapi: Error 429: Quota limit 'TPUV6EPreemptiblePerProjectPerRegionForTPUAPI' has been exceeded. "
            "Limit: 4 in region europe-west4.",
            "quota",
            ["TPUV6EPreemptiblePerProjectPerRegionForTPUAPI", "(limit 4)"],
        ),
        (
            "googleapi: Error 403: Quota 'CPUS' exceeded.  Limit: 24.0 in region us-central1., quotaExceeded",
            "quota",
            ["CPUS"],
        ),
        (RATE, "rate", ["wait a minute"]),
        ("Error 429: Too Many Requests", "rate", ["wait a minute"]),
        (
            "googleapi: Error 403: Required 'compute.networks.create' permission for 'projects/p/global/networks/n'",
            "permission",
            ["compute.networks.create", "projects/p/global/networks/n"],
        ),
        (
            "googleapi: Error 403: Permission 'tpu.nodes.create' denied on 'projects/p/locations/z/nodes/n'",
            "permission",
            ["tpu.nodes.create"],
        ),
        (NOT_ENABLED, "api_disabled", ["gcloud services enable tpu.googleapis.com --project my-project"]),
        (
            "Error 404: Resource 'projects/p/locations/z/nodes/pod' was not found",
            "not_found",
            ["projects/p/locations/z/nodes/pod", "pulumi refresh"],
        ),
        ("Error 409: The resource 'projects/p/global/networks/n' already exists", "exists", ["tpuwright recover"]),
        (
            "Error 400: The subnetwork resource 'projects/p/regions/r/subnetworks/s' is already being used by "
            "'projects/p/zones/z/instances/i', resourceInUseByAnotherResource",
            "busy",
            ["projects/p/zones/z/instances/i still uses it"],
        ),
        ("Error 401: Request had invalid authentication credentials.", "credentials_expired", ["gcloud auth"]),
        ("DefaultCredentialsError: Your default credentials were not found.", "credentials_missing", ["gcloud auth"]),
        ("ConnectionRefusedError: [Errno 111] Connection refused", "network", ["tpuwright emulator status"]),
        ("Error 503: The service is currently unavailable.", "unavailable", ["few minutes"]),
    ],
)
def test_each_error_of_google_has_its_own_sentence_with_what_to_do(text: str, kind: str, words: list[str]) -> None:
    found = recognise(text)
    assert found is not None
    assert found[0] == kind
    for word in words:
        assert word in found[1]
    assert "\n" not in found[1]


def test_json_answers_are_read_as_well_as_the_providers_words() -> None:
    body = {
        "error": {
            "code": 403,
            "message": "Permission 'tpu.nodes.get' denied on 'projects/p'",
            "status": "PERMISSION_DENIED",
        }
    }
    assert "tpu.nodes.get" in str(from_text(f"Error 403: {json.dumps(body)}", "the state of node pod"))


def test_what_nobody_knows_is_quoted_and_named() -> None:
    error = from_text("a thing\nthat never happened", "the state of node pod")
    assert str(error) == "Asking for the state of node pod failed, and Google says: a thing that never happened"


def test_ordinary_output_is_not_explained() -> None:
    assert explain("Updating (dev):\n + gcp:compute:Network net created (1s)\nResources: + 12 created") is None
