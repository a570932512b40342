"""Writes and reads report.json and report.html of a stack."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from tpuwright.errors import TpuwrightError
from tpuwright.report.model import Report
from tpuwright.report.page import page
from tpuwright.ssh.private_file import write_private


def write(report: Report, directory: Path) -> tuple[Path, Path]:
    """Write both files, each in one step; their paths."""
    data, people = directory / "report.json", directory / "report.html"
    write_private(data, report.model_dump_json(indent=2) + "\n")
    write_private(people, page(report))
    return data, people


def read(directory: Path) -> Report:
    """The last report; raises ``TpuwrightError`` when there is none or another version wrote it."""
    path = directory / "report.json"
    try:
        return Report.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise TpuwrightError(
            f"There is no report at {path} yet: `ansible-playbook playbooks/verify.yml -i inventories/pod` writes one."
        ) from error
    except ValidationError as error:
        raise TpuwrightError(
            f"The report at {path} was written by another version of tpuwright: run "
            "`ansible-playbook playbooks/verify.yml -i inventories/pod` again."
        ) from error
