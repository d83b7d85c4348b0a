"""Users' own kinds: a pattern near a literal or near digits, in linear time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.errors import ConfigError
from pipelines.personal.find import find
from pipelines.personal.registry import own_kind
from tests.pipelines.personal.found import found, pieces, texts_of

STAFF = own_kind("staff", r"\bEMP-[0-9]{6}\b", "EMP-", None, None)


def test_a_pattern_is_found_near_its_literal() -> None:
    text = "EMP-123456, XEMP-123456, EMP-1234567; é EMP-654321\nEMP-000001"
    assert [part for _, part in found(text, STAFF)] == ["EMP-123456", "EMP-654321", "EMP-000001"]
    assert STAFF.placeholder == "<STAFF>"


def test_the_literal_may_stand_beside_the_match_or_inside_it() -> None:
    badge = own_kind("badge", r"[A-Z][0-9]{3}", "Ausweis", None, None)
    assert [part for _, part in found("A123 é B456 Ausweis C789\nD000", badge)] == [
        "A123",
        "B456",
        "C789",
    ]
    assert found("Ausweis\nD000 and " + "x" * 300 + "Ausweis" + "y" * 300 + " E111", badge) == []


def test_a_pattern_is_found_where_there_are_enough_digits() -> None:
    room = own_kind("meter", r"Z[0-9]{3} [0-9]{5}", None, 8, None)
    assert [part for _, part in found("Z123 45678 Z12 34567, Z99945678", room)] == ["Z123 45678"]


def test_a_check_refuses_wrong_numbers() -> None:
    checked = own_kind("member", r"no\. [0-9]{5}", "no. ", None, "luhn")
    assert [part for _, part in found("no. 79927 no. 18218 no. 18219", checked)] == ["no. 18218"]


def test_matches_that_touch_are_two() -> None:
    pair = own_kind("pair", r"ab[0-9]", "ab", None, None)
    word = own_kind("word", r"\bab[0-9]", "ab", None, None)
    assert [part for _, part in found("ab1ab2xab3", pair)] == ["ab1", "ab2", "ab3"]
    assert [part for _, part in found("ab1ab2xab3", word)] == ["ab1"]


@given(st.text(st.sampled_from("ab1é\n中"), max_size=40))
def test_all_matches_of_a_plain_pattern_are_found(text: str) -> None:
    kind = own_kind("own", "ab[^\n]", "ab", None, None)
    texts = texts_of(text)
    starts = []
    at = text.find("ab")
    while at >= 0:
        hit = text[at : at + 3]
        good = len(hit) == 3 and hit[2] != "\n"
        starts += [hit] if good else []
        at = text.find("ab", at + (3 if good else 1))
    assert [part for _, _, part in pieces(texts, find(texts, (kind,)))] == starts


def test_a_pattern_that_would_take_for_ever_does_not() -> None:
    slow = own_kind("slow", r"(?:a+)+b", "aaa", None, None)
    assert found("a" * 100_000, slow) == []


@pytest.mark.parametrize(
    ("pattern", "literal", "digits", "reason"),
    [
        ("(a", "aa", None, "not understood"),
        ("(a)b", "aa", None, "not understood"),
        ("a)|(?:b", "aa", None, "not understood"),
        ("(?=a)b", "aa", None, "not understood"),
        ("a*", "aa", None, "matches the empty text"),
        ("a", "1", None, "cannot be looked for"),
        ("a", "1@2", None, "cannot be looked for"),
    ],
)
def test_what_is_of_no_use_is_refused(
    pattern: str, literal: str, digits: int | None, reason: str
) -> None:
    with pytest.raises(ConfigError, match=reason):
        own_kind("own", pattern, literal, digits, None)
