"""Partitions go to workers in batches: in order, none lost, none twice, none too large."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.build.batches import BATCH_BYTES, batches_of
from flows.build.packing import require_room, runs_of
from flows.build.plan import PlannedPartition
from lineage.digest import digest_of
from lineage.errors import ConfigError
from pipelines.ingest.partition import FileRange, Partition

MIB = 1 << 20
sizes = st.lists(st.integers(0, 200 * MIB), max_size=60)


def planned(sizes: list[int]) -> list[PlannedPartition]:
    return [
        PlannedPartition(
            n,
            0,
            Partition("s", "jsonl", "", (FileRange("f", 0, size),), digest_of(b"%d" % n), size),
            digest_of(b"stage key %d" % n),
            digest_of(b"key %d" % n),
        )
        for n, size in enumerate(sizes)
    ]


def size_of(item: PlannedPartition) -> int:
    return item.partition.num_bytes


@given(sizes, st.integers(1, 64))
def test_every_partition_is_in_one_batch_in_its_order(sizes: list[int], workers: int) -> None:
    partitions = planned(sizes)
    batches = batches_of(partitions, size_of, workers)
    assert [item for batch in batches for item in batch] == partitions
    assert all(batches)


@given(sizes, st.integers(1, 64))
def test_a_batch_is_as_large_as_it_may_be_and_no_larger(sizes: list[int], workers: int) -> None:
    target = max(sum(sizes) // (4 * workers), BATCH_BYTES)
    batches = [
        [item.partition.num_bytes for item in batch]
        for batch in batches_of(planned(sizes), size_of, workers)
    ]
    assert all(sum(batch) <= target or len(batch) == 1 for batch in batches)
    assert all(sum(batch) + after[0] > target for batch, after in pairwise(batches))


def test_large_input_gives_every_worker_severalbatches_of() -> None:
    assert len(batches_of(planned([16 * MIB] * 64), size_of, 4)) == 16


def test_small_input_is_one_batch_and_no_input_none() -> None:
    assert len(batches_of(planned([1000] * 500), size_of, 8)) == 1
    assert batches_of([], size_of, 8) == []


@pytest.mark.parametrize(
    ("count", "workers", "lengths"),
    [(5, 3, [2, 2, 1]), (4, 1, [2, 2]), (0, 1, []), (3, 9, [1, 1, 1])],
)
def test_buckets_are_packed_in_runs(count: int, workers: int, lengths: list[int]) -> None:
    buckets = [(n, 10 * n, 10 * n + 10) for n in range(count)]
    runs = runs_of(buckets, 128 * MIB, workers)
    assert [len(run) for run in runs] == lengths
    assert [bucket for run in runs for bucket in run] == buckets


def test_a_segment_that_dvc_cannot_track_is_refused_before_it_is_packed() -> None:
    require_room("segment-0001", 2_500)
    with pytest.raises(ConfigError, match="segment-0001 would have 2501 shards") as caught:
        require_room("segment-0001", 2_501)
    assert "shard_mib" in caught.value.hint
