"""The report as files: its committed schema, its page, its table."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import jsonschema
import pytest
from example_evidence import evidence, joined

from tpuwright.errors import TpuwrightError
from tpuwright.report.build import build
from tpuwright.report.files import read, write
from tpuwright.report.from_ansible import pods_of
from tpuwright.report.model import Report, json_schema
from tpuwright.report.page import page
from tpuwright.report.table import table

SCHEMA = Path(__file__).resolve().parents[3] / "docs" / "report.schema.json"


def broken() -> Report:
    pod = evidence()
    for host in pod.hosts:
        host.joined = joined(host.worker, until="imported", ended="signal", status=-6, output="DEADLINE_EXCEEDED")
    pod.hosts[2].joined = joined(2, until="started", ended="exit", status=1, output="<script>alert(1)</script>")
    return build("dev", [pod])


def test_the_committed_schema_is_that_of_the_model() -> None:
    assert json.loads(SCHEMA.read_text()) == json_schema()


@pytest.mark.parametrize("report", [build("dev", [evidence()]), broken()])
def test_a_written_report_fits_the_schema_and_is_read_back(tmp_path: Path, report: Report) -> None:
    data, people = write(report, tmp_path / "dev")
    jsonschema.validate(json.loads(data.read_text()), json.loads(SCHEMA.read_text()))
    assert read(tmp_path / "dev") == report
    assert {path.stat().st_mode & 0o777 for path in (data, people)} == {0o600}


def test_no_report_says_which_command_writes_one(tmp_path: Path) -> None:
    with pytest.raises(TpuwrightError, match=r"playbooks/verify\.yml"):
        read(tmp_path)


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.outside: list[str] = []
        self.classes: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)
        found = dict(attrs)
        self.outside += [str(found[name]) for name in ("src", "href") if name in found]
        self.classes.append(found.get("class") or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_needs_no_network_and_shows_each_host_in_its_colour() -> None:
    read_page = Page()
    read_page.feed(page(broken()))
    assert read_page.open == []
    assert read_page.outside == []
    assert read_page.classes.count("host fail") == 1
    assert read_page.classes.count("host pass") == 3


def test_what_a_host_printed_cannot_become_part_of_the_page() -> None:
    text = page(broken())
    assert "<script>" not in text
    assert "&lt;script&gt;" in text


def test_the_table_is_aligned_and_has_one_line_for_what_all_passed() -> None:
    lines = table(build("dev", [evidence()])).splitlines()
    rows = [line for line in lines if line.startswith("  ") and " ok " in line]
    assert len({line.index(" ok ") for line in rows}) == 1
    assert len([line for line in rows if "Reachable" in line]) == 1
    assert lines[-1].startswith("Pod pod works")


def test_a_host_that_the_play_left_out_is_in_the_report() -> None:
    pod = evidence()
    members = [{"name": host.name, "worker": host.worker, "internal_ip": host.internal_ip} for host in pod.hosts]
    about = {"pod": pod.pod.model_dump(), "members": members}
    facts = {**pod.hosts[0].facts.model_dump(), "changed": False} if pod.hosts[0].facts else {}
    hosts = {"pod-w0": {"__verify_about": about, "__verify_host": facts}}
    asked: list[str] = []

    def ask(pod: object) -> object:
        asked.append(str(pod))
        from tpuwright.report.evidence import NodeEvidence

        return NodeEvidence(state="READY")

    (found,) = pods_of(hosts, pod.limits, "", ask)  # type: ignore[arg-type]
    assert [host.error for host in found.hosts] == ["", *["this play leaves it out"] * 3]
    assert "pod-w1, pod-w2, pod-w3 cannot take part" in found.not_launched
    assert len(asked) == 1
