"""Writing sealed Parquet: token shards with small row groups, other tables with large.

Both write at the path they are given and make the bytes durable; the caller gives the
file its name in the end (crash point: until then the file is nobody's, and the caller's
recovery removes it).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import pyarrow as pa

from lineage.durable import sync_file
from lineage.errors import ConfigError, IntegrityError, Unavailable
from lineage.keys.sealing import MAX_ROW_GROUPS, Seal, parquet_writer
from pipelines.schema import LEAF, shard_schema

# What a feed reads at once: small enough for a random order, large enough for a disk.
SHARD_GROUP_BYTES = 256 << 10
TABLE_GROUP_BYTES = 16 << 20


def rows_per_group(sample_tokens: int, token_bytes: int) -> int:
    """Samples in a row group of a shard: about 256 KiB of ids, one sample at least."""
    return max(1, SHARD_GROUP_BYTES // (sample_tokens * token_bytes))


def write_shard(
    path: Path, samples: pa.Table, seal: Seal, *, sample_tokens: int, token_bytes: int
) -> None:
    """Writes one sealed token shard: lz4, no dictionary; durable on return.

    Args:
        samples: a table of `pipelines.schema.shard_schema`, and `LEAF` as its last column.
        token_bytes: 1, 2 or 4, the width of the dtype.

    Raises:
        ConfigError: more row groups than a sealed file can number.
        IntegrityError: a table of another schema.
        Unavailable: the disk is full, read-only or failing; nothing is left at `path`.
    """
    schema = shard_schema(sample_tokens, token_bytes).append(LEAF)
    if samples.schema.remove_metadata() != schema:
        raise IntegrityError(f"not samples of {sample_tokens} tokens of {token_bytes} bytes")
    rows = rows_per_group(sample_tokens, token_bytes)
    with TableWriter(path, samples.schema, seal, rows=rows, compression="lz4") as writer:
        writer.add(samples)


def write_table(path: Path, table: pa.Table, seal: Seal) -> None:
    """Writes one sealed table of any stage; durable on return.

    Raises:
        ConfigError, Unavailable: as `TableWriter`.
    """
    with TableWriter(path, table.schema, seal) as writer:
        writer.add(table)


class TableWriter:
    """Writes one sealed table part by part; the file is durable when the block ends well.

    Memory: the part that is added, and one row group.

    Args:
        rows: of a row group; else as many as make about 16 MiB.

    Raises:
        ConfigError: more row groups than a sealed file can number.
        Unavailable: the disk is full, read-only or failing. Nothing is left at `path` then.
    """

    def __init__(
        self,
        path: Path,
        schema: pa.Schema,
        seal: Seal,
        *,
        rows: int | None = None,
        compression: str = "zstd",
    ) -> None:
        self._path = path
        self._rows = rows
        self._num_groups = 0
        self._waiting = [schema.empty_table()]
        self._num_waiting = self._waiting_bytes = 0
        with self._made_known():
            self._file = parquet_writer(path, schema, seal, compression=compression)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._made_known():
            if kind is None:
                rest = pa.concat_tables(self._waiting)
                self._write(rest, self._rows or max(1, rest.num_rows))
            self._file.close()
            if kind is None:
                sync_file(self._path)
        if kind is not None:
            _remove(self._path)

    def add(self, part: pa.Table) -> None:
        """Takes the next rows; row groups that are full are written."""
        self._waiting.append(part)
        self._num_waiting += part.num_rows
        self._waiting_bytes += part.nbytes
        if not self._is_full():
            return
        table = pa.concat_tables(self._waiting)
        rows = self._rows or max(1, table.num_rows * TABLE_GROUP_BYTES // self._waiting_bytes)
        full = table.num_rows // rows * rows
        with self._made_known():
            self._write(table.slice(0, full), rows)
        rest = table.slice(full)
        self._waiting, self._num_waiting, self._waiting_bytes = [rest], rest.num_rows, rest.nbytes

    def _is_full(self) -> bool:
        if self._rows is not None:
            return self._num_waiting >= self._rows
        return self._waiting_bytes >= TABLE_GROUP_BYTES

    def _write(self, table: pa.Table, rows: int) -> None:
        self._num_groups += -(-table.num_rows // rows)
        if self._num_groups > MAX_ROW_GROUPS:
            raise ConfigError(
                f"{self._path.name}: {self._num_groups} row groups, "
                f"a sealed file holds {MAX_ROW_GROUPS}",
                "choose smaller shards",
            )
        if table.num_rows:
            self._file.write_table(table, row_group_size=rows)

    @contextmanager
    def _made_known(self) -> Iterator[None]:
        try:
            yield
        except ConfigError:
            _remove(self._path)
            raise
        except OSError as error:
            # What is there is torn; it would only keep a full disk full.
            _remove(self._path)
            raise _unavailable(self._path, error) from error


def _unavailable(path: Path, error: OSError) -> Unavailable:
    # pyarrow's own message repeats the whole path and the system's words.
    reason = os.strerror(error.errno or errno.EIO)
    hint = "see that its folder exists, can be written and has space"
    return Unavailable(f"{path.name} cannot be written: {reason}", hint)


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError:
        return
