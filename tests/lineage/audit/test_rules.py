"""The rules of a version are read back from its manifest, and say what they keep."""

from __future__ import annotations

from typing import Any

import pytest

from lineage.audit.rules import rules_of
from lineage.errors import IntegrityError


def rules(**said: object) -> list[dict[str, Any]]:
    return [{"name": "nfc", "parameters": {"form": "NFC"}}, {"name": "rules", "parameters": said}]


def judged(signals: dict[str, Any], **said: object) -> list[dict[str, Any] | None]:
    return [rule.judged(signals) for rule in rules_of(rules(**said))]


def test_a_rule_says_what_it_keeps_and_what_it_found() -> None:
    (row,) = judged({"num_words": 49}, few="num_words >= 50")
    assert row == {
        "rule": "few",
        "signal": "num_words",
        "value": 49,
        "keeps": ">=",
        "threshold": 50,
        "passes": False,
    }


def test_the_threshold_itself_is_kept_on_both_sides() -> None:
    rows = judged({"n": 5}, low="n >= 5", high="n <= 5", over="n <= 4")
    assert [row["passes"] for row in rows if row] == [True, True, False]


def test_a_language_may_have_its_own_rule_or_none() -> None:
    said = {"few": "n >= 50", "few[zh]": "n >= 5", "few[ja]": None}
    assert [row["passes"] for row in judged({"n": 7, "language": "zh"}, **said) if row] == [True]
    assert [row["passes"] for row in judged({"n": 7, "language": "en"}, **said) if row] == [False]
    assert judged({"n": 7, "language": "ja"}, **said) == [None]


def test_words_are_compared_as_words_and_null_is_none_of_them() -> None:
    said = {"language.allowed": "language in en pt"}
    assert [row["passes"] for row in judged({"language": "pt"}, **said) if row] == [True]
    assert [row["passes"] for row in judged({"language": None}, **said) if row] == [False]


def test_a_signal_that_was_not_measured_is_not_judged() -> None:
    assert judged({}, few="n >= 50") == [None]


@pytest.mark.parametrize("text", ["", "n > 5", "n >=", "n >= five", 5])
def test_a_rule_that_cannot_be_read_is_an_error(text: object) -> None:
    with pytest.raises(IntegrityError):
        rules_of(rules(few=text))
