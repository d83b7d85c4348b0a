"""Answers as lines: whatever a file is named, it stays one line of its own."""

from __future__ import annotations

import pytest

from shardline.cli.output import printable
from shardline.cli.texts import quarantine_text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("data/ä b.jsonl", "data/ä b.jsonl"),
        ("a\nrecord forged", r"a\nrecord forged"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\u202egpj.txt", r"\u202egpj.txt"),
        ("it's\t", r"it's\t"),
    ],
)
def test_what_breaks_or_recolours_a_line_is_escaped(name: str, shown: str) -> None:
    assert printable(name) == shown


def test_a_name_with_a_line_feed_forges_no_row_of_the_quarantine() -> None:
    record = {"source": "s", "path": "a\nb", "offset": 1, "reason": "blank_line", "detail": "d"}
    facts = {"version": "x@v1", "num_records": 1, "records": [record]}
    lines = list(quarantine_text(facts))
    assert all("\n" not in line for line in lines)
    assert lines[-1].endswith(r"s, a\nb at 1: blank_line (d)")
