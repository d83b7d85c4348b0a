"""How much of an item a document holds, whatever happened to it on the way."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.decontamination.index import COMMON, INDEXED, REPEATED, TOO_SHORT
from pipelines.decontamination.measure import measure
from tests.pipelines.decontamination.evaluation import (
    CHINESE,
    OTHER,
    QUESTION,
    THAI,
    column,
    coverage,
    index,
    rows,
    sample_texts,
)
from tests.pipelines.decontamination.oracle import measured

BEFORE, BEHIND = "An unrelated line stands here.\n\n", "\n\nAnd another one ends the page."
WORDS = ("the", "Egg", "CAFÉ", "don't", "x1", "ä", "字", "か", "ไ", "ก", "Ｚ", "—", "(", "+")


def test_an_item_inside_a_document_is_covered_whole() -> None:
    assert coverage(BEFORE + QUESTION + BEHIND, index(OTHER, QUESTION)) == 1_000_000


def test_a_document_that_only_talks_about_the_same_is_not() -> None:
    text = "How many eggs does a farmer sell on Monday, and how many does she keep for children?"
    assert rows(measure(column(text), index(QUESTION))) == [(0, 0, -1)]


@pytest.mark.parametrize("item", [QUESTION, CHINESE, THAI])
@pytest.mark.parametrize(
    "change",
    [
        str.upper,
        str.lower,
        lambda item: "\n".join(item.split()),
        lambda item: item.replace(",", " -- ").replace("?", "!"),
        lambda item: f"« {item} »",
    ],
)
def test_case_wrapping_and_punctuation_hide_nothing(item: str, change: object) -> None:
    text = change(item) if callable(change) else item
    assert coverage(BEFORE + text + BEHIND, index(item)) == 1_000_000


@pytest.mark.parametrize("item", [CHINESE, THAI])
def test_scripts_without_spaces_may_be_wrapped_anywhere(item: str) -> None:
    assert coverage("\n".join(item), index(item)) == 1_000_000


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_wrapping_a_text_anew_never_changes_what_it_holds(data: st.DataObject) -> None:
    found = index(QUESTION, OTHER)
    words = (BEFORE + QUESTION[:120] + " " + OTHER[40:] + BEHIND).split()
    spaces = st.sampled_from([" ", "\n", "\r\n", "\n\n   ", "\t", " \u00a0", "\u2028"])
    gaps = data.draw(st.lists(spaces, min_size=len(words), max_size=len(words)))
    text = "".join(word + gap for word, gap in zip(words, gaps, strict=True))
    assert rows(measure(column(text), found)) == rows(measure(column(" ".join(words)), found))


PHRASES = st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join)


@given(PHRASES, st.lists(PHRASES, min_size=1, max_size=5), st.integers(1, 3))
@settings(max_examples=100, deadline=None)
def test_it_agrees_with_what_a_reader_would_count(
    text: str, items: list[str], max_items: int
) -> None:
    given_ = {"words": 5, "min_words": 4, "max_items": max_items}
    [found] = rows(measure(column(text), index(*items, **given_)))
    assert found == measured(text, items, **given_)


@pytest.mark.parametrize("name", ["udhr", "debian-handbook", "libreoffice-help"])
def test_it_agrees_on_real_texts_of_many_languages(name: str) -> None:
    texts = [text[:3000] for text in sample_texts(name)]
    items = [text[200:500] for text in texts[:12]] + [text[900:960] for text in texts[:12]]
    given_ = {"words": 13, "min_words": 8, "max_items": 32}
    found = rows(measure(column(*texts), index(*items)))
    assert found == [measured(text, items, **given_) for text in texts]


def test_any_slicing_measures_the_same() -> None:
    texts = [*sample_texts("udhr", 12), QUESTION, "", OTHER + QUESTION]
    found, whole = index(QUESTION, OTHER), column(*texts)
    every = rows(measure(whole, found))
    for size in (1, 4, 7):
        parts = [whole.slice(at, size) for at in range(0, len(whole), size)]
        assert [row for part in parts for row in rows(measure(part, found))] == every
    assert rows(measure(whole.slice(3, 0), found)) == []


def test_the_share_is_that_of_the_item_and_rounded_down() -> None:
    item = " ".join(f"w{i}" for i in range(15))
    found = index(item)
    assert rows(measure(column(" ".join(f"w{i}" for i in range(14))), found)) == [(666_666, 2, 0)]


def test_the_first_of_equal_items_is_named() -> None:
    found = index(OTHER, QUESTION)
    assert rows(measure(column(QUESTION + OTHER), found))[0][2] == 0


def test_what_stands_twice_in_a_document_counts_once() -> None:
    found = index(QUESTION)
    once, twice = rows(measure(column(QUESTION, f"{QUESTION} | {QUESTION}"), found))
    assert once == twice


def test_a_short_item_counts_only_where_it_stands_whole() -> None:
    short = "What is the capital of the smallest country in Asia?"
    found = index(short)
    assert found.counts.whole == 1
    assert coverage(f"{BEFORE}{short}{BEHIND}", found) == 1_000_000
    assert coverage("He asked what is the capital of the smallest country in Europe.", found) == 0


def test_items_that_cannot_be_told_are_counted() -> None:
    found = index(QUESTION, "Yes.", QUESTION.upper(), "", OTHER)
    assert found.fate.tolist() == [INDEXED, TOO_SHORT, REPEATED, TOO_SHORT, INDEXED]
    counts = found.counts
    assert (counts.items, counts.indexed, counts.repeated, counts.too_short) == (5, 2, 1, 2)


def test_a_turn_of_phrase_of_a_whole_set_identifies_no_item() -> None:
    phrase = (
        "Read the question below with care and answer with one of the letters that stand there:"
    )
    items = [f"{phrase} {name} asks number {name}" for name in "abcdef"]
    every = index(*items, max_items=6)
    few = index(*items, max_items=5)
    assert coverage(phrase, every) > 0
    assert coverage(phrase, few) == 0
    assert few.counts.common_ngrams == 4
    assert coverage(items[2], few) == 1_000_000


def test_an_item_of_nothing_else_is_counted_as_common() -> None:
    phrase = " ".join(f"w{i}" for i in range(13))
    found = index(phrase, f"{phrase} more", max_items=1)
    assert found.fate.tolist() == [COMMON, INDEXED]
    assert found.counts.common == 1
    assert coverage(phrase, found) == 0


def test_an_index_of_nothing_finds_nothing() -> None:
    assert rows(measure(column(QUESTION), index("too short"))) == [(0, 0, -1)]
    assert rows(measure(pa.array([], pa.large_string()), index(QUESTION))) == []


def test_an_index_is_plain_arrays_in_any_order_of_the_filter() -> None:
    items = [" ".join(f"w{(7 * i + j * j) % 997}" for j in range(60)) for i in range(300)]
    found = index(*items)
    assert coverage(items[123], found) == 1_000_000
    assert np.all(np.diff(found.table.hashes.astype(object)) > 0)
    assert found.table.buckets[-1] == len(found.table.hashes) == found.counts.ngrams
