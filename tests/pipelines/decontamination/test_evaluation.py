"""What decontamination says of itself: as a table of the version, as JSON, and in lines."""

from __future__ import annotations

import json

from lineage.tables import table_root
from pipelines.decontamination.evaluation import EVALUATION, Evaluation
from pipelines.decontamination.index import EvalCounts
from pipelines.decontamination.recall import Recall

COUNTS = EvalCounts(
    items=1_319,
    indexed=1_300,
    whole=20,
    repeated=0,
    too_short=12,
    common=7,
    ngrams=90_000,
    common_ngrams=8,
)
TOLD = Evaluation(COUNTS, {"embedded": Recall(100, 100), "upper_case": Recall(99, 100)})


def test_the_table_has_a_row_a_number_and_a_root_that_stays() -> None:
    table = TOLD.table()
    assert table.schema == EVALUATION
    assert [tuple(row.values()) for row in table.to_pylist()] == [
        ("items", "indexed", 1_300, 1_319),
        ("items", "repeated", 0, 1_319),
        ("items", "too_short", 12, 1_319),
        ("items", "common", 7, 1_319),
        ("ngrams", "indexed", 90_000, 90_008),
        ("ngrams", "common", 8, 90_008),
        ("recall", "embedded", 100, 100),
        ("recall", "upper_case", 99, 100),
    ]
    # Frozen: docs/formats.md section 7.
    root = "sha256:4bbba68e124a660d60b3f88abbe17ae116089ac11a0642e4922be80870c6a4bc"
    assert str(table_root(table)) == root


def test_programs_read_every_number() -> None:
    told = json.loads(json.dumps(TOLD.to_json()))
    assert (told["items"]["indexed"], told["items"]["whole"]) == (1_300, 20)
    assert told["recall"]["upper_case"] == {"found": 99, "injected": 100}


def test_people_read_what_is_looked_for_and_what_is_found() -> None:
    assert list(TOLD.lines()) == [
        ("evaluation", "1,300 of 1,319 items looked for, 12 too short, 7 too common"),
        ("recall", "of 100 items put into documents: 100 embedded, 99 upper case"),
    ]


def test_without_a_document_to_put_an_item_into_that_is_said() -> None:
    none = Evaluation(COUNTS, {"embedded": Recall(0, 0)})
    assert dict(none.lines())["recall"].startswith("not measured: no document")
