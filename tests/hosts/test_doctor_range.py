"""Doctor's look at the address range, with real networks in the Docker engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from rehearsal.hosts.labels import REHEARSAL
from rehearsal.paths import rehearsal_paths
from rehearsal.setup import checks as machine_checks
from tpuwright.doctor.check import Finding, Status

RANGE = "10.213.64.0/20"

pytestmark = pytest.mark.docker


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a rehearsal stack that wants RANGE."""
    (tmp_path / "Pulumi.rehearsal.yaml").write_text(
        f"config:\n  gcp:project: tpuwright-rehearsal\n  tpuwright:network: {{ip_cidr_range: {RANGE}}}\n"
    )
    return tmp_path


@pytest.fixture
def labels(request: pytest.FixtureRequest) -> dict[str, str]:
    found: dict[str, str] = getattr(request, "param", {})
    return found


@pytest.fixture
def network(labels: dict[str, str]) -> Iterator[str]:
    """A Docker network within RANGE."""
    client = docker.from_env()
    pool = docker.types.IPAMConfig(pool_configs=[docker.types.IPAMPool(subnet="10.213.65.0/24")])
    made = client.networks.create("tpuwright-doctor-test", ipam=pool, labels=labels)
    yield made.name
    made.remove()
    client.close()


def found(project: Path) -> Finding:
    check = next(each for each in machine_checks.checks("rehearsal", project) if each.name == "Address range")
    return check.run()


def test_a_free_range_is_fine(project: Path) -> None:
    assert found(project).status is Status.OK


def test_a_range_that_a_docker_network_uses_is_named_with_a_free_one(project: Path, network: str) -> None:
    finding = found(project)
    assert finding.status is Status.FAILED
    assert f"the Docker network {network} uses 10.213.65.0/24" in finding.found
    assert "tpuwright:network, such as 10." in finding.remedy


@pytest.mark.parametrize("labels", [{REHEARSAL: "another-clone"}], indirect=True)
@pytest.mark.usefixtures("network")
def test_the_network_of_another_clones_rehearsal_is_a_collision(project: Path) -> None:
    assert found(project).status is Status.FAILED


@pytest.mark.parametrize("labels", [{REHEARSAL: rehearsal_paths().name}], indirect=True)
@pytest.mark.usefixtures("network")
def test_the_network_of_this_checkouts_own_rehearsal_is_none(project: Path) -> None:
    assert found(project).status is Status.OK
