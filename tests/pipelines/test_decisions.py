"""Summaries of decisions."""

from __future__ import annotations

import pyarrow as pa

from pipelines.decisions import (
    DECISIONS,
    Verdict,
    count_by_verdict,
    decisions_on,
    dropped_by_rule,
    removed_by_rule,
)


def decision(number: int, verdict: Verdict, rule: str | None) -> dict[str, object]:
    ids = bytes([number]) * 32
    return {
        "document_id": ids,
        "raw_content_id": ids,
        "stage": "dedup",
        "verdict": verdict.value,
        "rule": rule,
        "edits": "",
    }


TABLE = pa.Table.from_pylist(
    [
        decision(1, Verdict.DROPPED, "min_chars"),
        decision(1, Verdict.KEPT, None),
        decision(2, Verdict.DROPPED, "exact_duplicate"),
        decision(3, Verdict.DROPPED, "min_chars"),
        decision(4, Verdict.QUARANTINED, "record_id_reused"),
        decision(5, Verdict.REMOVED, "changed"),
    ],
    DECISIONS,
)


def test_drops_and_removals_are_counted_by_rule_in_the_order_of_names() -> None:
    assert list(dropped_by_rule(TABLE).items()) == [("exact_duplicate", 1), ("min_chars", 2)]
    assert removed_by_rule(TABLE) == {"changed": 1}


def test_every_verdict_is_counted_even_if_there_is_none() -> None:
    assert count_by_verdict(TABLE) == {"dropped": 3, "kept": 1, "quarantined": 1, "removed": 1}
    assert set(count_by_verdict(DECISIONS.empty_table()).values()) == {0}
    assert dropped_by_rule(DECISIONS.empty_table()) == {}


def test_the_decisions_on_one_document_are_found() -> None:
    found = decisions_on(TABLE, bytes([1]) * 32)
    assert found["verdict"].to_pylist() == ["dropped", "kept"]
    assert decisions_on(TABLE, bytes([9]) * 32).num_rows == 0
