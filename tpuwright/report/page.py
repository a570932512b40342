"""The report as a page for people: one file, without anything from the network."""

from __future__ import annotations

from functools import cache
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from tpuwright.report.model import PodReport, Report, Status

_WORDS: Final = {
    Status.PASS: "works",
    Status.WARN: "works, with warnings",
    Status.FAIL: "does not work",
    Status.SKIP: "not proved",
}


def page(report: Report) -> str:
    """The HTML; everything that hosts said is escaped."""
    return _template().render(report=report, words=_WORDS, columns=_columns)


def _columns(pod: PodReport) -> int:
    """How many hosts stand side by side in the picture: about twice as wide as high."""
    hosts = len(pod.hosts)
    return next((width for width in range(1, hosts + 1) if width * width >= 2 * hosts), hosts)


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("tpuwright.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.j2")
