"""The largest cluster is found, through duplicates of duplicates."""

from __future__ import annotations

import numpy as np

from pipelines.dedup.clusters import largest_cluster


def test_a_duplicate_of_a_duplicate_counts_for_the_one_that_stands_at_the_end() -> None:
    # Row 4 is another occurrence of 3, which has the content of 2, which is near to 0.
    assert largest_cluster(np.array([-1, -1, 0, 2, 3, 1])) == (0, 4)


def test_of_several_as_large_the_first_is_given() -> None:
    assert largest_cluster(np.array([-1, -1, 1, 0])) == (0, 2)
    assert largest_cluster(np.array([-1, -1])) == (0, 1)


def test_without_rows_there_is_none() -> None:
    assert largest_cluster(np.zeros(0, np.int64)) == (-1, 0)
