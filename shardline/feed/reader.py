"""Reads samples of sealed shards: only the row groups that hold them, each decoded once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from lineage.errors import IntegrityError, NotFound, ShardlineError, Unavailable
from lineage.permutation import Int64s
from shardline.feed.samples import Samples
from shardline.feed.source import FeedSource

_IDS = "input_ids"
_PACKED = ["boundaries", "loss_mask"]
_Rows = npt.NDArray[np.void]


@dataclass(frozen=True, slots=True)
class _Shard:
    file: pq.ParquetFile
    group_at: Int64s  # the first row of each row group, and the number of rows behind the last


class ShardReader:
    """Reads rows of shards, with a bounded number of open files. For one thread at a time.

    Args:
        source: opens the shards.
        open_files: shards that stay open at most, the last used.
    """

    def __init__(self, source: FeedSource, open_files: int) -> None:
        self._source, self._open_files = source, open_files
        self._dtype = np.dtype(source.dtype).newbyteorder("<")
        self._row_bytes = source.sample_tokens * self._dtype.itemsize
        self._samples = [n for segment in source.segments for n in segment.shard_samples]
        self._open: OrderedDict[int, _Shard] = OrderedDict()
        self._now = "no shard"

    @property
    def now(self) -> str:
        """The name of the shard that was asked for last; safe to read from other threads."""
        return self._now

    def read(self, shards: Int64s, rows: Int64s) -> Samples:
        """The samples at (shard, row), in the order given; both int64 (n,).

        Raises:
            IntegrityError: a shard's bytes are changed, or it is another one; it names the shard.
            NotFound: a shard is missing; it names the shard.
            Unavailable: a shard's tier does not answer; it names the shard.
        """
        if not shards.size:
            return Samples.none(self._source.sample_tokens, self._dtype)
        # Arrow's pool gives memory back warm; numpy's would fault in each page of every window.
        buffer = pa.allocate_buffer(len(shards) * self._row_bytes)
        out: _Rows = np.frombuffer(buffer, dtype=f"V{self._row_bytes}")
        order = np.lexsort((rows, shards))
        tables = []
        for members in np.split(order, np.flatnonzero(np.diff(shards[order])) + 1):
            table, wanted = self._row_groups(int(shards[members[0]]), rows[members])
            self._scatter(table.column("input_ids"), wanted, out, members)
            tables.append(_taken(table.select(_PACKED), wanted))
        ids = out.view(self._dtype).reshape(len(shards), self._source.sample_tokens)
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return Samples(ids, *_packed(pa.concat_tables(tables), back))

    def close(self) -> None:
        """Closes the files; the reader may be used again."""
        while self._open:
            self._open.popitem()[1].file.close()

    def _row_groups(self, shard: int, rows: Int64s) -> tuple[pa.Table, Int64s]:
        """Row groups that hold ascending rows, and where in them these rows lie.

        A bad or missing shard is asked for once more from another tier; never skipped.
        """
        self._now = self._source.shard_name(shard)
        try:
            return self._decoded(shard, rows)
        except (IntegrityError, NotFound):
            self._forget(shard)
            if not self._source.restore_shard(shard):
                raise
        return self._decoded(shard, rows)

    def _decoded(self, shard: int, rows: Int64s) -> tuple[pa.Table, Int64s]:
        with _named(self._now):
            opened = self._opened(shard)
            group_of_row = np.searchsorted(opened.group_at, rows, side="right") - 1
            groups = np.unique(group_of_row)
            # Arrow's threads cost more than they give on row groups this small.
            table = opened.file.read_row_groups(
                groups.tolist(), columns=[_IDS, *_PACKED], use_threads=False
            )
        sizes = opened.group_at[groups + 1] - opened.group_at[groups]
        shift = np.cumsum(sizes) - sizes - opened.group_at[groups]
        return table, rows + shift[np.searchsorted(groups, group_of_row)]

    def _opened(self, shard: int) -> _Shard:
        opened = self._open.pop(shard, None) or self._checked(shard)
        self._open[shard] = opened
        if len(self._open) > self._open_files:
            self._open.popitem(last=False)[1].file.close()
        return opened

    def _checked(self, shard: int) -> _Shard:
        """Opens a shard and refuses one that is not as the version says."""
        file = self._source.open_shard(shard)
        metadata = file.metadata
        sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        group_at = np.cumsum([0, *sizes], dtype=np.int64)
        expected = pa.binary(self._row_bytes)
        schema = file.schema_arrow
        if group_at[-1] != self._samples[shard] or schema.field(_IDS).type != expected:
            file.close()
            raise IntegrityError(
                f"{group_at[-1]} samples of {schema.field(_IDS).type}, where the version has "
                f"{self._samples[shard]} of {expected}"
            )
        return _Shard(file, group_at)

    def _forget(self, shard: int) -> None:
        opened = self._open.pop(shard, None)
        if opened is not None:
            opened.file.close()

    def _scatter(self, column: pa.ChunkedArray, wanted: Int64s, out: _Rows, places: Int64s) -> None:
        """Copies rows of a column to places of the buffer: once where the rows are a run."""
        start = 0
        for chunk in column.chunks:
            first, last = np.searchsorted(wanted, (start, start + len(chunk)))
            inside, start = wanted[first:last] - start, start + len(chunk)
            stored = np.frombuffer(chunk.buffers()[1], dtype=out.dtype)
            stored = stored[chunk.offset : chunk.offset + len(chunk)]
            if len(inside) and inside[-1] - inside[0] == len(inside) - 1:
                out[places[first:last]] = stored[inside[0] : inside[-1] + 1]
            else:
                out[places[first:last]] = stored[inside]


def _taken(table: pa.Table, wanted: Int64s) -> pa.Table:
    return table if len(wanted) == len(table) else table.take(pa.array(wanted))


def _packed(
    table: pa.Table, order: Int64s
) -> tuple[pa.BinaryArray, pa.FixedSizeBinaryArray | None]:
    """Boundaries and masks in order; no masks where every token counts."""
    boundaries, masks = (_one_chunk(table.column(name)) for name in _PACKED)
    indexes = pa.array(order)
    whole = masks.null_count == len(masks)
    return boundaries.take(indexes), None if whole else masks.take(indexes)


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Gives every error of a shard its name, and pyarrow's errors one of our kinds."""
    try:
        yield
    except FileNotFoundError:
        raise NotFound(f"shard {name} is missing", "fetch it again from another tier") from None
    except ShardlineError as error:
        raise type(error)(f"shard {name}: {error.message}", error.hint) from error
    except (OSError, pa.ArrowException) as error:
        # Arrow says OSError without a number for bytes that do not open under the key.
        if isinstance(error, OSError) and error.errno is not None:
            raise Unavailable(f"shard {name} cannot be read: {error.strerror}") from None
        raise IntegrityError(
            f"shard {name} does not open: changed bytes, a wrong key or another shard",
            "fetch it again from another tier",
        ) from None
