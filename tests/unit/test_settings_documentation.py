"""The documents that are generated from the settings model."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from tpuwright.settings import documentation

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", [documentation.SCHEMA_FILE, documentation.TABLE_FILE])
def test_the_committed_documents_say_what_the_model_says(tmp_path, name):
    documentation.write(tmp_path)
    committed = (ROOT / "docs" / name).read_text()
    assert committed == (tmp_path / name).read_text(), "run: python -m tpuwright.settings.documentation"


def test_the_example_stack_is_good_by_the_schema_and_a_misspelt_key_is_not():
    schema = json.loads((ROOT / "docs" / documentation.SCHEMA_FILE).read_text())
    config = yaml.safe_load((ROOT / "Pulumi.example.yaml").read_text())["config"]
    ours = {key.removeprefix("tpuwright:"): value for key, value in config.items() if key.startswith("tpuwright:")}
    jsonschema.validate(ours, schema)
    ours["pods"][0]["acelerator_type"] = ours["pods"][0].pop("accelerator_type")
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(ours, schema)


def test_every_setting_has_a_sentence_in_the_table():
    rows = [row for row in documentation.table().splitlines() if row.startswith("| `")]
    assert len(rows) > 30
    assert [row for row in rows if not row.split("|")[2].strip()] == []
