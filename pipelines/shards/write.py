"""Writing sealed Parquet: token shards with small row groups, other tables with large.

Both write at the path they are given and make the bytes durable; the caller gives the
file its name in the end (crash point: until then the file is nobody's, and the caller's
recovery removes it).
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

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
    _write(path, samples, seal, rows, compression="lz4")


def write_table(path: Path, table: pa.Table, seal: Seal) -> None:
    """Writes one sealed table of any stage: zstd, row groups of about 16 MiB; durable.

    Raises:
        ConfigError: more row groups than a sealed file can number.
        Unavailable: the disk is full, read-only or failing; nothing is left at `path`.
    """
    rows = max(1, table.num_rows * TABLE_GROUP_BYTES // max(1, table.nbytes))
    _write(path, table, seal, rows, compression="zstd")


def _write(path: Path, table: pa.Table, seal: Seal, rows: int, *, compression: str) -> None:
    groups = -(-table.num_rows // rows)
    if groups > MAX_ROW_GROUPS:
        raise ConfigError(
            f"{path.name}: {groups} row groups, a sealed file holds {MAX_ROW_GROUPS}",
            "choose smaller shards",
        )
    try:
        writer = parquet_writer(path, table.schema, seal, compression=compression)
    except OSError as error:
        raise _unavailable(path, error) from error
    try:
        with writer:
            writer.write_table(table, row_group_size=rows)
        sync_file(path)
    except OSError as error:
        # What is there is torn; it would only keep a full disk full.
        _remove(path)
        raise _unavailable(path, error) from error


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
