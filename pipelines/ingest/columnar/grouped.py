"""Files of row groups, Parquet and Arrow: a record a row, a run of groups a partition."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterator
from pathlib import Path

import pyarrow as pa

from lineage.digest import Digest
from pipelines.ingest.chunk import Chunk, ChunkBuilder, Place
from pipelines.ingest.columnar.columns import add_batch
from pipelines.ingest.columnar.groups import groups_of
from pipelines.ingest.columnar.rowgroups import CorruptFile, Groups
from pipelines.ingest.fields import fields_of
from pipelines.ingest.partition import FileRange, Partition, broken_content, row_groups_content
from pipelines.spec.source import SourceSpec

_READ_BYTES = 1 << 20


def read_groups(
    partition: Partition, source: SourceSpec, root: Path, builder: ChunkBuilder
) -> Generator[Chunk, None, Digest]:
    """Reads a run of row groups or batches of a local file; returns the digest of what was read.

    Raises:
        OSError: the file cannot be read.
    """
    with pa.OSFile(str(root / partition.files[0].path)) as file:
        return (yield from read_open_groups(file, partition, source, builder))


def read_open_groups(
    file: pa.NativeFile,
    partition: Partition,
    source: SourceSpec,
    builder: ChunkBuilder,
) -> Generator[Chunk, None, Digest]:
    """Reads a run of row groups of an open file; returns the digest of what was read.

    A group that is damaged costs its own rows alone.

    Args:
        file: seekable; local, or the ranges of an object in a store.

    Raises:
        OSError: the file cannot be read.
    """
    part = partition.files[0]
    if part.length == 0:
        return _add_broken(builder, file, source.format)
    try:
        groups = groups_of(source.format, file)
        wanted = range(part.start, min(part.start + part.length, groups.count))
        content = row_groups_content([groups.digest(i) for i in wanted])
    except CorruptFile:
        return broken_content(_digest(file))
    # Bytes that changed since the plan are not read at all.
    if content == partition.content:
        yield from _add_groups(builder, source, groups, part)
    return content


def _add_groups(
    builder: ChunkBuilder, source: SourceSpec, groups: Groups, part: FileRange
) -> Iterator[Chunk]:
    """Adds the rows of a run of groups, which count from its first."""
    first = 0
    for group in range(part.start, part.start + part.length):
        num_rows = groups.num_rows(group)
        done, broken = 0, ""
        batches = groups.batches(group, fields_of(source))
        while True:
            try:
                batch = next(batches, None)
                if batch is None:
                    break
                yield from add_batch(builder, source, batch, first + done, 0)
            except (pa.ArrowException, OSError) as error:
                broken = f": {type(error).__name__}"
                break
            done += batch.num_rows
        if broken or done != num_rows:
            detail = f"row group {group}: {num_rows - done} of {num_rows} rows unread{broken}"
            builder.refuse("corrupt_file", detail, b"", Place(0, first + done, 0))
        first += num_rows
    if groups.damage and part.start + part.length == groups.count:
        builder.refuse("corrupt_file", groups.damage, b"", Place(0, first, 0))


def _refuse_file(builder: ChunkBuilder, groups: Groups | CorruptFile, num_bytes: int) -> None:
    """Adds a file that has no rows to read, or is none."""
    empty = not num_bytes
    if isinstance(groups, CorruptFile):
        detail = "no bytes" if empty else f"no file of this format: {groups}"
    else:
        empty = not (groups.total_rows or groups.damage)
        detail = groups.damage or f"a file of {groups.total_rows} rows"
    reason = "empty_file" if empty else "corrupt_file"
    builder.refuse(reason, detail, b"", Place(0, 0, 0 if empty else num_bytes))


def _add_broken(builder: ChunkBuilder, file: pa.NativeFile, format_: str) -> Digest:
    size = file.size()
    try:
        _refuse_file(builder, groups_of(format_, file), size)
    except CorruptFile as error:
        _refuse_file(builder, error, size)
    return broken_content(_digest(file))


def _digest(file: pa.NativeFile) -> Digest:
    hasher = hashlib.sha256()
    file.seek(0)
    while block := file.read(_READ_BYTES):
        hasher.update(block)
    return Digest(hasher.digest())
