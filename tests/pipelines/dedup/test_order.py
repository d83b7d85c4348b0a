"""Ranks and groups of ids, against plain sorting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.dedup.order import Ids, in_crowds, leaders, ranks, same_ids, sorted_ids

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


@pytest.mark.parametrize("at", [0, 7, 8, 31])
def test_ids_that_differ_in_one_byte_differ(at: int) -> None:
    one = matrix([bytes(32), bytes(32)])
    two = one.copy()
    two[1, at] = 1
    assert same_ids(one, two).tolist() == [True, False]
