"""Projects for the stand-in: against a server that only takes requests, and against the embedded cloud."""

import sys
from collections.abc import Iterator
from pathlib import Path

import google_stub
import pytest
from pulumi_project import Project, engine

# The embedded cloud of the emulator's own tests.
sys.path.append(str(Path(__file__).parents[1] / "emulator"))


@pytest.fixture
def pulumi() -> Path:
    found = engine()
    if found is None:
        pytest.skip("no Pulumi engine: run 'make setup'")
    return found


@pytest.fixture
def google() -> Iterator[google_stub.GoogleStub]:
    with google_stub.running() as stub:
        yield stub


@pytest.fixture
def project(tmp_path: Path, pulumi: Path, google: google_stub.GoogleStub) -> Project:
    return Project.make(tmp_path / "p", pulumi, google.endpoint, google_stub.TOKEN)
