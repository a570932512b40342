from collections.abc import Iterator
from pathlib import Path

import google_stub
import pytest
from pulumi_project import Project, engine


@pytest.fixture
def google() -> Iterator[google_stub.GoogleStub]:
    with google_stub.running() as stub:
        yield stub


@pytest.fixture
def project(tmp_path: Path, google: google_stub.GoogleStub) -> Project:
    pulumi = engine()
    if pulumi is None:
        pytest.skip("no Pulumi engine: run 'make setup'")
    return Project.make(tmp_path / "p", pulumi, google.endpoint, google_stub.TOKEN)
