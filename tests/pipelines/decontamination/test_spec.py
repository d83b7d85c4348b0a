"""The section [decontamination]."""

from __future__ import annotations

import pytest

from lineage.errors import ConfigError
from pipelines.spec.decontamination import (
    DecontaminationSpec,
    EvalSetSpec,
    decontamination_spec,
)
from pipelines.spec.section import section_json


def test_sets_are_paths_or_tables_and_fields_have_a_default() -> None:
    table = {
        "sets": [
            "evals/*.jsonl",
            {"path": "evals/b.parquet", "fields": ["question", "choices"]},
            {"path": "evals/prompts", "format": "text"},
            "evals/c.txt.gz",
        ],
        "fields": ["prompt"],
    }
    spec = decontamination_spec(table, "a.toml")
    assert spec.sets == (
        EvalSetSpec("evals/*.jsonl", "jsonl", ("prompt",)),
        EvalSetSpec("evals/b.parquet", "parquet", ("question", "choices")),
        EvalSetSpec("evals/prompts", "text", ()),
        EvalSetSpec("evals/c.txt.gz", "text", ()),
    )
    assert decontamination_spec({"sets": ["a.jsonl"]}, "").sets[0].fields == ("text",)


def test_numbers_have_defaults_and_shares_are_millionths() -> None:
    spec = decontamination_spec({"sets": ["a.jsonl"]}, "a.toml")
    assert spec == DecontaminationSpec(spec.sets, 13, 8, 32, 200_000)
    other = decontamination_spec(
        {"sets": ["a.jsonl"], "words": 6, "max_items": 5, "max_coverage": 0.75}, "a.toml"
    )
    assert (other.words, other.min_words, other.max_items, other.max_coverage) == (6, 6, 5, 750_000)
    assert section_json(spec)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "'sets' is missing"),
        ({"sets": []}, "a list of paths"),
        ({"sets": "a.jsonl"}, "a list of paths"),
        ({"sets": [7]}, "set 1: path: a string was expected"),
        ({"sets": ["evals"]}, "tells no format"),
        ({"sets": ["evals/a.zip"]}, "tells no format"),
        ({"sets": ["../a.jsonl"]}, "leaves the workspace"),
        ({"sets": ["/data/a.jsonl"]}, "leaves the workspace"),
        ({"sets": ["s3://bucket/a.jsonl"]}, "leaves the workspace"),
        ({"sets": [{"path": "a.jsonl", "format": "csv"}]}, "none of jsonl, parquet, text"),
        ({"sets": [{"path": "a.txt", "fields": ["a"]}]}, "no fields"),
        ({"sets": [{"path": "a.jsonl", "field": "a"}]}, "unknown key 'field'"),
        ({"sets": ["a.jsonl"], "fields": []}, "no field"),
        ({"sets": ["a.jsonl"], "fields": ["a", "a"]}, "stands twice"),
        ({"sets": ["a.jsonl"], "words": 3}, "not between 4 and 64"),
        ({"sets": ["a.jsonl"], "min_words": 14}, "not between 4 and 13"),
        ({"sets": ["a.jsonl"], "max_items": 0}, "not between 1"),
        ({"sets": ["a.jsonl"], "max_coverage": 1.5}, "not between 0 and 1"),
        ({"sets": ["a.jsonl"], "word": 3}, "unknown key 'word'"),
    ],
)
def test_what_is_wrong_is_said(table: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        decontamination_spec(table, "a.toml")
