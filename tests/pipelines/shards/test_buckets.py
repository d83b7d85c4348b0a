"""Documents fall into buckets by their shuffle key, exactly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.shards.buckets import MAX_BUCKETS, bucket_of, bucket_starts, num_buckets

keys = st.lists(st.binary(min_size=32, max_size=32), max_size=20)


def as_array(values: list[bytes]) -> np.ndarray:
    return np.frombuffer(b"".join(values), np.uint8).reshape(-1, 32)


@given(values=keys, buckets=st.integers(1, MAX_BUCKETS))
def test_a_bucket_is_the_exact_share_of_the_key(values: list[bytes], buckets: int) -> None:
    expected = [int.from_bytes(key[:8], "big") * buckets >> 64 for key in values]
    assert bucket_of(as_array(values), buckets).tolist() == expected


@given(values=keys, buckets=st.integers(1, 50))
def test_the_order_of_buckets_is_the_order_of_keys(values: list[bytes], buckets: int) -> None:
    found = bucket_of(as_array(sorted(values)), buckets)
    assert np.all(np.diff(found) >= 0)


@given(values=keys, buckets=st.integers(1, 50))
def test_buckets_are_found_by_where_they_start(values: list[bytes], buckets: int) -> None:
    ordered = as_array(sorted(values))
    first = np.ascontiguousarray(ordered[:, :8]).view(">u8")[:, 0].astype(np.uint64)
    bounds = np.searchsorted(first, bucket_starts(buckets))
    expected = np.searchsorted(bucket_of(ordered, buckets), np.arange(buckets))
    assert bounds.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("tokens", "shard_tokens", "count"),
    [(0, 10, 1), (1, 10, 1), (10, 10, 1), (11, 10, 2), (10**15, 10**7, 10**8)],
)
def test_there_are_as_many_buckets_as_shards_are_full(
    tokens: int, shard_tokens: int, count: int
) -> None:
    assert num_buckets(tokens, shard_tokens) == count


def test_impossible_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="one token"):
        num_buckets(10, 0)
    with pytest.raises(ValueError, match="larger shards"):
        num_buckets(2**40, 1)
    with pytest.raises(ValueError, match="2\\*\\*31"):
        bucket_of(as_array([]), 0)
    with pytest.raises(ValueError, match="2\\*\\*31"):
        bucket_starts(0)
    with pytest.raises(ValueError, match=r"\(n, 32\)"):
        bucket_of(np.zeros((3, 16), np.uint8), 4)
