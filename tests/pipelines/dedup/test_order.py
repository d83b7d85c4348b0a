"""Ranks and groups of ids, against plain sorting."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.dedup.order import (
    Ids,
    in_crowds,
    leaders,
    leading,
    ranks,
    row_type,
    sharing,
    sorted_ids,
)

# Ids that share their first eight bytes take the other way round through the sort.
near_ids = st.builds(
    lambda a, b, c: bytes([a]) * 8 + bytes([b]) * 16 + bytes([c]) * 8, *[st.integers(0, 2)] * 3
)
lists = st.lists(st.one_of(st.binary(min_size=32, max_size=32), near_ids), max_size=40)


def matrix(ids: list[bytes]) -> Ids:
    return np.frombuffer(b"".join(ids), np.uint8).reshape(-1, 32)


@settings(deadline=None)
@given(lists)
def test_ranks_are_those_of_the_bytes(ids: list[bytes]) -> None:
    distinct = sorted(set(ids))
    assert ranks(matrix(ids)).tolist() == [distinct.index(item) for item in ids]


@settings(deadline=None)
@given(lists)
def test_sorting_sorts_bytewise_and_marks_each_new_id(ids: list[bytes]) -> None:
    order, steps = sorted_ids(matrix(ids))
    ordered = [ids[i] for i in order]
    assert ordered == sorted(ids)
    assert steps.tolist() == [i == 0 or ordered[i] != ordered[i - 1] for i in range(len(ids))]


@given(st.lists(st.integers(0, 5), max_size=20))
def test_a_crowd_is_a_group_of_two_or_more(groups: list[int]) -> None:
    found = in_crowds(np.array(groups, np.int64))
    assert found.tolist() == [groups.count(group) > 1 for group in groups]


@given(st.lists(st.integers(0, 5), max_size=20).map(sorted))
def test_the_leader_of_a_group_is_its_first_place(groups: list[int]) -> None:
    found = leaders(np.array(groups, np.int64))
    assert found.tolist() == [groups.index(group) for group in groups]


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=20))
def test_places_share_a_number_with_another_one_that_takes_part(
    places: list[tuple[int, bool]],
) -> None:
    numbers = np.array([number for number, _ in places], np.uint64)
    among = np.array([part for _, part in places], np.bool_)
    expected = [at for at, place in enumerate(places) if place[1] and places.count(place) > 1]
    assert sharing(numbers, among).tolist() == expected


def test_leading_bytes_are_numbers_in_the_order_of_the_ids() -> None:
    ids = matrix([bytes([0, 1]) + bytes(30), bytes([1, 0]) + bytes(30), b"\xff" * 32])
    assert leading(ids).tolist() == [1 << 48, 1 << 56, 2**64 - 1]


def test_rows_are_as_narrow_as_their_number_allows() -> None:
    assert (row_type(2**31 - 1), row_type(2**31)) == (np.int32, np.int64)
