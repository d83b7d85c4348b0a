"""Sorts more rows than memory holds: by ranges of an id, through sealed files.

Ids are as good as random, so ranges of equal width hold about equally many rows. Rows are
split among them, each range is read back and sorted alone, and the sorted ranges in a row
are all rows sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lineage.keys.sealing import open_parquet, parquet_writer
from lineage.tables import binary_matrix
from pipelines.dedup.order import Ints, leading
from storage_tiers.stage import StagePart, StageStore

SPILLS = "spills"
# Rows that are held at once: what fits is sorted in memory, and touches no disk.
SLICE_ROWS = 1 << 17
# A range is an open file: more rows than these allow make wider ranges.
_MOST_RANGES = 256

# One row a batch of rows, as an Arrow stream: the footer of a file of many small row groups
# of many columns would be larger than its rows.
_SPILLED = pa.schema([pa.field("rows", pa.large_binary(), nullable=False)])

Order = Callable[[pa.Table], Ints]


def in_order(
    stage: StageStore,
    pieces: Iterable[pa.Table],
    num_rows: int,
    key: str,
    order: Order,
    slice_rows: int = SLICE_ROWS,
) -> Generator[pa.Table, None, None]:
    """All rows of some pieces, sorted, in tables of about `slice_rows` rows.

    Memory: such a table, some three times over. On disk: all rows once, where they are more.

    Args:
        num_rows: of all pieces together.
        key: a column of ids, by which the rows are sorted before all else.
        order: gives the order of a table whose rows come in the order of the pieces.

    Raises:
        Unavailable: the disk is full or cannot be written.
    """
    num_ranges = min(-(-num_rows // max(1, slice_rows)), _MOST_RANGES)
    if num_ranges <= 1:
        yield from _sorted(list(pieces), order)
        return
    with stage.scratch(SPILLS) as part:
        with ExitStack() as stack:
            spills = [_Spill(part, number, stack) for number in range(num_ranges)]
            for table in _held(pieces, slice_rows):
                _spill(table, key, spills)
        for spill in spills:
            yield from _sorted(spill.tables(), order)
            # Else the pool keeps what the slice before took, and the next one takes its own.
            pa.default_memory_pool().release_unused()


class _Spill:
    """The rows of one range."""

    def __init__(self, part: StagePart, number: int, stack: ExitStack) -> None:
        self._path = part.path(f"{number:05d}.parquet")
        self._seal = part.seal(f"{number:05d}")
        writer = parquet_writer(self._path, _SPILLED, self._seal, compression="none")
        self._writer: pq.ParquetWriter = stack.enter_context(writer)

    def add(self, table: pa.Table) -> None:
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_stream(sink, table.schema, options=options) as stream:
            stream.write_table(table)
        rows = sink.getvalue()
        bounds = pa.py_buffer(np.array([0, rows.size], np.int64))
        value = pa.Array.from_buffers(pa.large_binary(), 1, [None, bounds, rows])
        self._writer.write_table(pa.table([value], schema=_SPILLED))

    def tables(self) -> list[pa.Table]:
        """All of them; the file is gone then."""
        with open_parquet(self._path, self._seal) as file:
            values = file.read()["rows"]
        self._path.unlink()
        return [pa.ipc.open_stream(value.as_buffer()).read_all() for value in values]


def _held(pieces: Iterable[pa.Table], slice_rows: int) -> Iterator[pa.Table]:
    """The pieces in larger ones: the fewer batches a range gets the better."""
    held: list[pa.Table] = []
    num_rows = 0
    for piece in pieces:
        held.append(piece)
        num_rows += piece.num_rows
        if num_rows >= slice_rows:
            yield pa.concat_tables(held)
            held, num_rows = [], 0
    if held:
        yield pa.concat_tables(held)


def _spill(table: pa.Table, key: str, spills: list[_Spill]) -> None:
    # The upper half of eight bytes: the product stays within 64 bits.
    first = leading(binary_matrix(table[key])) >> np.uint64(32)
    range_ = (first * np.uint64(len(spills)) >> np.uint64(32)).astype(np.int16)
    by_range = np.argsort(range_, kind="stable")
    bounds = np.searchsorted(range_[by_range], np.arange(len(spills) + 1))
    table = table.take(pa.array(by_range))
    for spill, start, stop in zip(spills, bounds, bounds[1:], strict=False):
        if start < stop:
            spill.add(table.slice(start, stop - start).combine_chunks())


def _sorted(tables: list[pa.Table], order: Order) -> Iterator[pa.Table]:
    if tables:
        table = pa.concat_tables(tables).combine_chunks()
        tables.clear()
        yield table.take(pa.array(order(table)))
