"""The first rule that a document fails drops it, with its value and its threshold."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.errors import IntegrityError
from pipelines.rules.decide import decide
from pipelines.rules.rule import AnyRule, OneOf, Rule, Side

WORDS = Rule("few_words", "num_words", Side.MIN, 3)
LINES = Rule("many_lines", "num_lines", Side.MAX, 10)


def judge(signals: dict[str, list[object]], *rules: AnyRule) -> list[tuple[object, ...]]:
    columns = decide(pa.table(signals), rules).columns(rules)
    return list(zip(*(columns[name].to_pylist() for name in columns), strict=True))


def test_the_threshold_itself_is_kept() -> None:
    rows = judge({"num_words": [2, 3, 4], "num_lines": [11, 10, 9]}, WORDS, LINES)
    assert rows == [("few_words", 2, 3), (None, None, None), (None, None, None)]


def test_the_first_rule_that_fails_is_the_one_that_is_told() -> None:
    assert judge({"num_words": [2], "num_lines": [11]}, LINES, WORDS) == [("many_lines", 11, 10)]


def test_a_language_may_have_its_own_threshold_or_none() -> None:
    rule = Rule("few_words", "num_words", Side.MIN, 3, {"zh": 9, "ja": None})
    words: dict[str, list[object]] = {
        "num_words": [5, 5, 0, 2, 2],
        "language": ["zh", "en", "ja", None, "xx"],
    }
    assert [row[0] for row in judge(words, rule)] == ["few_words", None, None, *["few_words"] * 2]
    assert judge(words, rule)[0] == ("few_words", 5, 9)


def test_a_rule_may_hold_for_some_languages_alone() -> None:
    rule = Rule("few_words", "num_words", Side.MIN, None, {"zh": 9})
    words: dict[str, list[object]] = {"num_words": [5, 0], "language": ["zh", "en"]}
    assert [row[0] for row in judge(words, rule)] == ["few_words", None]


def test_a_word_must_be_one_of_the_allowed_and_an_unknown_one_is_none() -> None:
    rule = OneOf("language.allowed", "language", ("en", "pt"))
    rows = judge({"language": ["en", "de", None]}, rule)
    assert rows == [(None, None, None), *[("language.allowed", None, None)] * 2]


def test_a_signal_that_nobody_measured_is_an_error() -> None:
    with pytest.raises(IntegrityError, match="no signal num_lines"):
        judge({"num_words": [1]}, LINES)
    by_language = Rule("few_words", "num_words", Side.MIN, 3, {"zh": 9})
    with pytest.raises(IntegrityError, match="no signal language"):
        judge({"num_words": [1]}, by_language)


def test_no_rules_keep_everything_and_no_rows_are_judged() -> None:
    assert judge({"num_words": [1]}) == [(None, None, None)]
    assert judge({"num_words": [], "num_lines": []}, WORDS, LINES) == []


integers = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(st.tuples(integers, integers), max_size=20), integers, integers)
def test_judging_is_comparing_row_by_row(rows: list[tuple[int, int]], low: int, high: int) -> None:
    values = np.array(rows, np.int64).reshape(-1, 2)
    signals = pa.table({"a": pa.array(values[:, 0]), "b": pa.array(values[:, 1])})
    rules = (Rule("low", "a", Side.MIN, low), Rule("high", "b", Side.MAX, high))
    expected = ["low" if a < low else "high" if b > high else None for a, b in rows]
    assert decide(signals, rules).columns(rules)["rule"].to_pylist() == expected
