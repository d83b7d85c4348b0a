"""Texts of some documents, read where partitions were staged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from flows.build.prepare import KIND
from flows.build.staged import staged
from lineage.digest import Digest
from lineage.keys.sealing import open_parquet
from pipelines.dedup.order import Ints
from storage_tiers.stage import StageEntry, StageStore


def texts_at(
    stage: StageStore, keys: Mapping[int, Digest], partitions: Ints, rows: Ints
) -> pa.LargeStringArray:
    """The cleaned texts of documents, in the order in which they are asked for.

    Args:
        keys: stage key of each partition that is asked for, and of no other.
        partitions, rows: the places of the documents.
    """
    parts: list[pa.LargeStringArray] = [pa.array([], pa.large_string())]
    order, so_far = np.empty(len(rows), np.int64), 0
    for ordinal, key in keys.items():
        mine = np.flatnonzero(partitions == ordinal)
        by_row = mine[np.argsort(rows[mine])]
        parts += _texts_of(staged(stage, KIND, key), rows[by_row])
        order[by_row] = so_far + np.arange(len(by_row))
        so_far += len(by_row)
    return pa.concat_arrays(parts).take(pa.array(order))


def _texts_of(entry: StageEntry, rows: Ints) -> Iterator[pa.LargeStringArray]:
    """The texts of some rows, ascending; only the row groups that hold them are read."""
    with open_parquet(entry.path("documents.parquet"), entry.seal("documents")) as file:
        first = 0
        for group in range(file.num_row_groups):
            size = file.metadata.row_group(group).num_rows
            low, high = np.searchsorted(rows, [first, first + size])
            if low < high:
                texts = file.read_row_group(group, columns=["text"])["text"].combine_chunks()
                yield texts.take(pa.array(rows[low:high] - first))
            first += size
