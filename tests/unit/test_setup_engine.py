"""The Pulumi engine: kept whole in the cache, downloaded or built, and what is said where it cannot be had."""

from __future__ import annotations

import io
import json
import tarfile
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rehearsal.engine import build as engine_build
from rehearsal.engine.build import build
from rehearsal.engine.cache import WrongEngine, keep
from rehearsal.engine.download import download, release_url
from rehearsal.setup import pulumi, reachable
from rehearsal.setup.step import StepFailed, Work
from tpuwright.pulumi_engine import cached_engine, find_engine, pinned_version


def put_engine(directory: Path, version: str) -> None:
    program = directory / "pulumi"
    program.write_text(f"#!/bin/sh\necho v{version}\n")
    program.chmod(0o755)


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    return tmp_path / "pulumi" / "3.0.0" / "bin" / "pulumi"


@pytest.fixture
def no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without an engine, whose cache is empty; its PATH is the directory given."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:/bin")
    monkeypatch.setattr(engine_build, "_USUAL_PLACE", tmp_path / "no-go")
    return programs


@pytest.fixture
def releases() -> Iterator[str]:
    """A site like get.pulumi.com, with the pinned version."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name, text in (("pulumi", f"echo v{pinned_version()}"), ("pulumi-language-python", "exit 0")):
            data = f"#!/bin/sh\n{text}\n".encode()
            entry = tarfile.TarInfo(f"pulumi/{name}")
            entry.size, entry.mode = len(data), 0o755
            archive.addfile(entry, io.BytesIO(data))

    class Site(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response(200)
            self.end_headers()

        def do_GET(self) -> None:
            known = release_url(pinned_version(), "").endswith(self.path)
            self.send_response(200 if known else 404)
            self.end_headers()
            self.wfile.write(content.getvalue() if known else b"")

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_two_clones_at_once_make_one_engine_between_them(binary: Path) -> None:
    made: list[Path] = []

    def fill(directory: Path) -> None:
        made.append(directory)
        time.sleep(0.2)
        put_engine(directory, "3.0.0")

    clones = [threading.Thread(target=keep, args=(binary, "3.0.0", fill)) for _ in range(2)]
    for clone in clones:
        clone.start()
    for clone in clones:
        clone.join(timeout=20)
    assert len(made) == 1
    assert binary.exists()


def test_nobody_sees_an_engine_before_it_is_whole(binary: Path) -> None:
    def fill(directory: Path) -> None:
        put_engine(directory, "3.0.0")
        assert not binary.exists()

    keep(binary, "3.0.0", fill)
    assert binary.exists()


@pytest.mark.parametrize("told", ["2.9.9", ""])
def test_an_engine_of_another_version_is_refused_and_leaves_nothing(binary: Path, told: str) -> None:
    with pytest.raises(WrongEngine, match=r"expected Pulumi 3\.0\.0"):
        keep(binary, "3.0.0", lambda directory: put_engine(directory, told) if told else None)
    assert [entry.name for entry in binary.parents[2].iterdir()] == ["3.0.0.lock"]


def test_a_build_that_is_interrupted_leaves_nothing_that_passes_for_an_engine(binary: Path) -> None:
    def fill(directory: Path) -> None:
        put_engine(directory, "3.0.0")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        keep(binary, "3.0.0", fill)
    assert not binary.parent.exists()


def test_a_broken_engine_in_the_cache_is_replaced(binary: Path) -> None:
    binary.parent.mkdir(parents=True)
    binary.write_text("#!/bin/sh\nexit 1\n")
    binary.chmod(0o755)
    keep(binary, "3.0.0", lambda directory: put_engine(directory, "3.0.0"))
    assert "3.0.0" in binary.read_text()


def test_a_release_is_unpacked_with_its_language_hosts(releases: str, tmp_path: Path) -> None:
    said: list[str] = []
    download(pinned_version(), tmp_path, said.append, releases)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["pulumi", "pulumi-language-python"]
    assert said[0].startswith(f"downloading Pulumi {pinned_version()}")


@pytest.mark.usefixtures("no_engine")
def test_where_the_site_answers_the_release_is_taken_and_nothing_is_built(
    releases: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulumi, "RELEASES", releases)
    monkeypatch.setattr(pulumi, "download", lambda version, to, say: download(version, to, say, releases))
    step = pulumi.PulumiEngine()
    assert step.look() is None
    assert "downloaded" in step.provide(Work(tmp_path / "log"))
    assert find_engine() == cached_engine()
    assert step.look() == f"{pinned_version()} at {cached_engine()}"


@pytest.mark.usefixtures("no_engine")
def test_no_site_and_no_go_is_one_sentence_with_both_ways_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulumi, "RELEASES", "http://127.0.0.1:9/releases")
    with pytest.raises(StepFailed) as failure:
        pulumi.PulumiEngine().provide(Work(tmp_path / "log"))
    assert "127.0.0.1:9 does not answer, and there is no Go to build it with" in str(failure.value)
    assert "https://go.dev/dl/" in failure.value.command
    assert f"--version {pinned_version()}" in failure.value.command


def test_a_build_that_fails_is_quoted_with_what_would_help(
    no_engine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulumi, "RELEASES", "http://127.0.0.1:9/releases")
    go = no_engine / "go"
    go.write_text("#!/bin/sh\necho 'dial tcp: lookup proxy.example: no such host' >&2; exit 1\n")
    go.chmod(0o755)
    with pytest.raises(StepFailed, match=r"could not be built \(dial tcp: .*no such host\).*GOPROXY"):
        pulumi.PulumiEngine().provide(Work(tmp_path / "log"))
    assert not cached_engine().parent.exists()


def test_the_build_names_the_version_and_leaves_the_checkout_as_it_is(tmp_path: Path) -> None:
    seen: dict[str, object] = {}

    def run(command: list[str], environment: dict[str, str], directory: Path) -> None:
        seen.update(command=command, environment=environment, files={file.name for file in directory.iterdir()})
        (directory / "go.sum").write_text("changed")

    before = (engine_build.MODULE / "go.sum").read_bytes()
    build(Path("/go"), tmp_path, run)  # type: ignore[arg-type]
    command = seen["command"]
    assert isinstance(command, list)
    assert f"version.Version={pinned_version()}" in " ".join(command)
    assert str(tmp_path / "pulumi") in command
    assert seen["environment"] == {"CGO_ENABLED": "0"}
    assert seen["files"] == {"go.mod", "go.sum", "tools.go"}
    assert (engine_build.MODULE / "go.sum").read_bytes() == before


def test_an_engine_on_path_of_the_right_version_is_used_and_another_is_not(no_engine: Path) -> None:
    put_engine(no_engine, "3.0.0")
    assert find_engine() is None
    put_engine(no_engine, pinned_version())
    assert find_engine() == no_engine / "pulumi"


@pytest.mark.usefixtures("no_engine")
def test_a_silent_site_is_not_asked_again_for_a_while_and_a_retry_is_possible(
    monkeypatch: pytest.MonkeyPatch, releases: str
) -> None:
    host = releases.removeprefix("http://")
    reachable.memory_file().parent.mkdir(parents=True)
    reachable.memory_file().write_text(json.dumps({host: {"at": time.time() - 3 * 3600, "why": "no route"}}))
    assert reachable.why_unreachable(releases) == f"{host} did not answer 3 h ago"
    monkeypatch.setenv("TPUWRIGHT_SETUP_RETRY", "1")
    assert reachable.why_unreachable(releases) is None
    monkeypatch.delenv("TPUWRIGHT_SETUP_RETRY")
    assert reachable.why_unreachable(releases) is None


@pytest.mark.usefixtures("no_engine")
def test_what_was_silent_half_a_day_ago_is_asked_again(releases: str) -> None:
    host = releases.removeprefix("http://")
    reachable.memory_file().parent.mkdir(parents=True)
    reachable.memory_file().write_text(json.dumps({host: {"at": time.time() - 13 * 3600, "why": "no route"}}))
    assert reachable.why_unreachable(releases) is None
