"""Items are put into real documents on purpose, and looked for."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.decontamination.mutations import MUTATIONS, inject
from pipelines.decontamination.recall import MOST_INJECTED, Recall, measure_recall, sampled
from pipelines.dedup.rows import TableRows
from tests.pipelines.decontamination.evaluation import (
    CHINESE,
    OTHER,
    QUESTION,
    column,
    index,
    sample_texts,
)

ITEMS = (QUESTION, OTHER, CHINESE)
HARMLESS = ("embedded", "rewrapped", "upper_case", "lower_case", "punctuation")


def chance(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def recall(threshold: int = 200_000, seed: int = 7, num: int = 30) -> dict[str, Recall]:
    texts = column(*sample_texts("udhr", num))
    return measure_recall(index(*ITEMS), texts, column(*ITEMS), threshold, chance(seed))


def test_what_only_looks_different_is_always_found() -> None:
    found = recall()
    assert list(found) == list(MUTATIONS)
    for mutation in HARMLESS:
        assert found[mutation] == Recall(30, 30)


def test_what_is_half_there_is_found_by_a_low_threshold_alone() -> None:
    texts, item = column(*sample_texts("udhr", 30)), column(f"{QUESTION} {OTHER}")
    for threshold, found in ((200_000, 30), (800_000, 0)):
        recalled = measure_recall(index(*item.to_pylist()), texts, item, threshold, chance())
        assert recalled["half"] == Recall(found, 30)


def test_the_same_seed_tells_the_same() -> None:
    assert recall(threshold=600_000) == recall(threshold=600_000)


def test_documents_that_hold_an_item_already_take_none() -> None:
    texts = column(*sample_texts("udhr", 3), f"As they ask: {QUESTION}")
    found = measure_recall(index(*ITEMS), texts, column(*ITEMS), 200_000, chance())
    assert found["embedded"].injected == 3


def test_no_more_than_a_hundred_are_injected() -> None:
    texts = column(*[f"A page, number {i}." for i in range(2 * MOST_INJECTED)])
    found = measure_recall(index(*ITEMS), texts, column(*ITEMS), 200_000, chance())
    assert found["embedded"] == Recall(MOST_INJECTED, MOST_INJECTED)


def test_without_documents_or_items_nothing_is_injected() -> None:
    nothing = dict.fromkeys(MUTATIONS, Recall(0, 0))
    empty = column()
    assert measure_recall(index(*ITEMS), empty, column(*ITEMS), 200_000, chance()) == nothing
    short = index("too short")
    assert measure_recall(short, column("a"), column("too short"), 200_000, chance()) == nothing


def documents(numbers: list[int]) -> pa.Table:
    """A document a number; every seventh is too long to take an item."""
    keys = [hashlib.sha256(b"%d" % number).digest() for number in numbers]
    lengths = [70_000 if number % 7 == 0 else 100 for number in numbers]
    columns = {"shuffle_key": pa.array(keys, pa.binary(32)), "num_chars": pa.array(lengths)}
    return pa.table(columns | {"number": numbers})


@given(st.lists(st.integers(0, 400), unique=True), st.data())
def test_the_sample_is_the_same_in_any_order_of_documents(
    numbers: list[int], data: st.DataObject
) -> None:
    def chosen(order: list[int]) -> list[int]:
        table = documents(order)
        rows = TableRows(table)
        kept = np.array([row for row, n in enumerate(order) if n % 2], np.int64)
        found: list[int] = table["number"].take(pa.array(sampled(rows, kept))).to_pylist()
        return found

    first = chosen(numbers)
    assert chosen(data.draw(st.permutations(numbers))) == first
    able = {n for n in numbers if n % 2 and n % 7}
    assert set(first) <= able
    assert len(first) == min(len(able), MOST_INJECTED)


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_every_mutation_keeps_the_document_around_the_item(mutation: str) -> None:
    texts = ["one two three", "", "  ", "字字字"]
    items = [QUESTION, "word", "", CHINESE]
    injected = inject(texts, items, mutation, chance())
    for text, whole in zip(texts, injected, strict=True):
        rest = iter(whole)
        assert all(char in rest for char in text)
    assert injected == inject(texts, items, mutation, chance())


def test_a_rewrapped_item_has_eight_words_a_line() -> None:
    [text] = inject([""], [QUESTION], "rewrapped", chance())
    assert {len(line.split()) for line in text.strip().splitlines()[:-1]} == {8}


def test_an_edited_item_has_lost_a_word_in_twenty() -> None:
    [text] = inject([""], [QUESTION], "edited", chance())
    assert len(text.split()) == len(QUESTION.split()) - 2
