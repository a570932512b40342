"""The virtual environment and the sources that its packages come from."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

from rehearsal.engine.build import module_version
from rehearsal.setup import python_packages
from rehearsal.setup.package_sources import PackageSources, package_sources, pip_options
from rehearsal.setup.python_packages import LOCK, differences, locked_versions, requirement_of
from tpuwright.pulumi_engine import pinned_version

SAMPLE = """\
annotated-doc==0.0.7 \\
    --hash=sha256:0a30 \\
    --hash=sha256:6bc3
    # via typer
uv==0.13.9 \\
    --hash=sha256:aaaa
    # via tpuwright (pyproject.toml)
zope-Thing==1.0 ; sys_platform == 'linux' \\
    --hash=sha256:bbbb
"""


def test_the_lock_is_read_with_normalised_names_and_without_markers() -> None:
    assert locked_versions(SAMPLE) == {"annotated-doc": "0.0.7", "uv": "0.13.9", "zope-thing": "1.0"}


def test_one_requirement_is_cut_out_with_all_of_its_hashes() -> None:
    assert requirement_of("annotated-doc", SAMPLE).count("--hash") == 2
    assert requirement_of("uv", SAMPLE) == "uv==0.13.9 \\\n    --hash=sha256:aaaa\n"


def test_every_pin_of_our_lock_has_a_hash_and_names_no_file_of_the_machine_that_made_it() -> None:
    text = LOCK.read_text(encoding="utf-8")
    for name in locked_versions(text):
        assert "--hash=sha256:" in requirement_of(name, text), name
    assert "-c /" not in text


def test_the_module_that_builds_the_engine_is_at_the_version_that_the_lock_pins() -> None:
    locked = locked_versions(LOCK.read_text(encoding="utf-8"))["pulumi"]
    assert module_version() == locked == pinned_version()


def test_a_package_of_another_version_and_a_missing_one_are_both_differences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = tmp_path / "requirements.txt"
    lock.write_text(LOCK.read_text(encoding="utf-8") + "never-heard-of==1.0\npytest==0.0.1\n")
    monkeypatch.setattr(python_packages, "LOCK", lock)
    assert {"never-heard-of 1.0", "pytest 0.0.1"} <= set(differences())


def test_another_checkout_that_is_installed_in_this_ones_place_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").write_text((python_packages.REPOSITORY / "pyproject.toml").read_text())
    monkeypatch.setattr(python_packages, "REPOSITORY", tmp_path)
    assert "this project itself (another checkout is installed)" in differences()


def test_a_command_that_pyproject_names_since_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    project = python_packages._project_differences
    assert project(Path(sysconfig.get_path("purelib"))) == []
    text = (python_packages.REPOSITORY / "pyproject.toml").read_text()
    commands = '[project.entry-points."tpuwright.commands"]\n'
    monkeypatch.setattr(python_packages, "tomllib", _Toml(text.replace(commands, commands + 'new = "a.b:app"\n')))
    assert project(Path(sysconfig.get_path("purelib"))) == ["this project's commands as pyproject.toml now names them"]


class _Toml:
    """tomllib, reading another text than the one it is given."""

    def __init__(self, text: str) -> None:
        self._text = text

    def loads(self, _text: str) -> dict[str, object]:
        import tomllib

        return tomllib.loads(self._text)


def test_pips_own_order_holds_global_then_install_then_the_environment() -> None:
    listing = (
        ":env:.cert='/env.pem'\n"
        "global.cert='/global.pem'\n"
        "global.index-url='https://one/simple'\n"
        "install.index-url='https://two/simple'\n"
        "install.extra-index-url='\\nhttps://three/simple\\nhttps://four/simple'\n"
        "freeze.timeout='1'\n"
    )
    options = pip_options(listing)
    assert options["cert"] == "/env.pem"
    assert options["index-url"] == "https://two/simple"
    assert options["extra-index-url"].split() == ["https://three/simple", "https://four/simple"]
    assert "timeout" not in options


def test_what_pip_is_told_is_told_to_uv(tmp_path: Path) -> None:
    bundle = tmp_path / "ca.pem"
    bundle.write_text("")
    configuration = tmp_path / "pip.conf"
    configuration.write_text(
        "[global]\nindex-url = https://mirror/simple\nextra-index-url =\n  https://a/simple\n  https://b/simple\n"
        f"cert = {bundle}\nproxy = http://proxy:3128\ntrusted-host = mirror\nfind-links = {tmp_path} /not/there\n"
    )
    environment = {"PIP_CONFIG_FILE": str(configuration), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    told = package_sources(environment).for_uv(environment)
    expected = {
        "UV_DEFAULT_INDEX": "https://mirror/simple",
        "UV_INDEX": "https://a/simple https://b/simple",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_FIND_LINKS": str(tmp_path),
        "UV_INSECURE_HOST": "mirror",
        "SSL_CERT_FILE": str(bundle),
        "HTTP_PROXY": "http://proxy:3128",
        "HTTPS_PROXY": "http://proxy:3128",
    }
    assert {name: told[name] for name in expected} == expected


def test_what_uv_is_told_already_wins_whatever_the_case() -> None:
    sources = PackageSources(index_url="https://pip/simple", proxy="http://pip:1")
    told = sources.for_uv({"UV_DEFAULT_INDEX": "https://mine/simple", "https_proxy": "http://mine:2"})
    assert told["UV_DEFAULT_INDEX"] == "https://mine/simple"
    assert "HTTPS_PROXY" not in told
    assert told["HTTP_PROXY"] == "http://pip:1"


def test_a_machine_that_sets_nothing_leaves_uv_alone() -> None:
    assert PackageSources().for_uv({"PATH": "/bin"}) == {"PATH": "/bin"}
