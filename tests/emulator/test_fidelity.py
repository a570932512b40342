"""docs/fidelity.md says what the handlers say."""

from __future__ import annotations

from rehearsal.emulator.fidelity import FILE, document
from rehearsal.emulator.handlers import HANDLERS


def test_the_table_in_docs_is_what_the_handlers_say() -> None:
    assert FILE.read_text(encoding="utf-8") == document(), "run `python -m rehearsal.emulator.fidelity`"


def test_every_handler_is_in_the_table() -> None:
    text = document()
    for method_id in HANDLERS:
        name = method_id.partition(".")[2].removeprefix("projects.locations.")
        assert f"`{name}`" in text, method_id
