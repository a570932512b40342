"""The report as a page for people: one file, without anything from the network."""

from __future__ import annotations

from functools import cache
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from tpuwright.report.model import Check, PodReport, Report, Status

_WORDS: Final = {
    Status.PASS: "works",
    Status.WARN: "works, with warnings",
    Status.FAIL: "does not work",
    Status.SKIP: "not proved",
}


def page(report: Report) -> str:
    """The HTML; everything that hosts said is escaped."""
    return _template().render(report=report, words=_WORDS, columns=_columns, by_weight=_by_weight)


def _columns(pod: PodReport) -> int:
    """How many hosts stand side by side in the picture: whole rows, wider than high, at most 16."""
    hosts = len(pod.hosts)
    return min(16, next((width for width in range(1, hosts) if hosts % width == 0 and width**2 >= 2 * hosts), hosts))


def _by_weight(pod: PodReport) -> list[Check]:
    """What needs attention first, else in order."""
    order = [Status.FAIL, Status.WARN, Status.SKIP, Status.PASS]
    return sorted(pod.checks, key=lambda check: order.index(check.status))


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
