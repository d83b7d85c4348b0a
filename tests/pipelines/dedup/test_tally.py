"""Parts are counted over documents in bounded memory, and no cut changes the count."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.dedup.tally import NUM_BUCKETS, Counting, Pairs, bucket_bounds, bucket_runs

LAST = 2**64 - 1
HASHES = st.one_of(st.integers(0, 5), st.integers(LAST - 3, LAST), st.integers(0, LAST))
PAIRS = st.lists(st.tuples(HASHES, st.integers(0, 6)), max_size=40)


def pairs(found: list[tuple[int, int]]) -> Pairs:
    columns = np.array(found, np.uint64).reshape(-1, 2)
    return Pairs(columns[:, 0], columns[:, 1])


@given(PAIRS, st.integers(1, 4), st.integers(1, 40), st.integers(1, 4))
@settings(deadline=None)
def test_no_cut_changes_what_is_repeated(
    found: list[tuple[int, int]], num: int, held: int, most: int
) -> None:
    documents = defaultdict(set)
    for part, document in found:
        documents[part].add(document)
    expected = sorted(part for part, those in documents.items() if len(those) > most)
    pieces = [pairs(found[at::num]).tidy() for at in range(num)]
    bounds = [bucket_bounds(piece.parts) for piece in pieces]
    sizes = np.sum([np.diff(each) for each in bounds], axis=0)
    told: list[int] = []
    for first, last in bucket_runs(sizes, held):
        counting = Counting(most, held)
        for piece, bound in zip(pieces, bounds, strict=True):
            counting.add(Pairs(*(column[bound[first] : bound[last]] for column in piece)))
        told += counting.repeated().tolist()
    assert told == expected


@given(st.lists(st.integers(0, 50), min_size=NUM_BUCKETS, max_size=NUM_BUCKETS), st.integers(1, 99))
def test_runs_cover_every_bucket_once_and_hold_what_was_asked_for(
    sizes: list[int], held: int
) -> None:
    runs = bucket_runs(np.array(sizes), held)
    assert [bucket for first, last in runs for bucket in range(first, last)] == list(range(256))
    for first, last in runs:
        assert sum(sizes[first:last]) <= held or sum(size > 0 for size in sizes[first:last]) == 1


def test_a_part_that_stands_everywhere_is_held_no_more_often_than_it_takes() -> None:
    counting = Counting(3, held=100)
    for number in range(1000):
        documents = np.arange(50 * number, 50 * number + 50, dtype=np.uint64)
        counting.add(Pairs(np.full(50, 7, np.uint64), documents))
        assert sum(len(held.parts) for held in counting._held) <= 150
    assert counting.repeated().tolist() == [7]
