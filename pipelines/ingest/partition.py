"""Partitions: the units of work into which a source is planned.

A partition's content digest names what a build reads, and nothing else: no path, no
time, no place in a file. What was built from the same content is used again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lineage.digest import Digest, digest_of, digest_of_file, frame
from lineage.errors import ConfigError
from pipelines.ingest.cuts import cut_positions, next_cut
from pipelines.ingest.files import SourceFile, list_files, reading
from pipelines.ingest.rowgroups import CorruptParquet, RowGroups
from pipelines.spec.source import COMPRESSIONS, SourceSpec

TARGET_BYTES = 16 << 20
_READ_BYTES = 1 << 20
# Opening a file costs about as much as reading this many bytes.
_FILE_COST_BYTES = 4096


@dataclass(frozen=True, slots=True)
class FileRange:
    """A part of a file.

    Attributes:
        path: posix path relative to the workspace's root, or absolute where outside it.
        start: first byte, or first row group of a Parquet file.
        length: number of bytes, or of row groups; 0 is an empty or a broken file.
        offset_base: what a record's offset counts from: the first byte of plain lines, the
            first row of row groups, else 0.
    """

    path: str
    start: int
    length: int
    offset_base: int = 0


@dataclass(frozen=True, slots=True)
class Partition:
    """One unit of work.

    Attributes:
        source: name of the source.
        format: one of `pipelines.spec.source.FORMATS`.
        compression: ``gz``, ``zst``, ``bz2``, ``xz`` or empty.
        files: ranges, in the order in which they are read.
        content: of plain JSONL, SHA-256 of the bytes; else SHA-256 over a frame of the
            digests of files or row groups.
        num_bytes: bytes in the files, compressed where they are.
    """

    source: str
    format: str
    compression: str
    files: tuple[FileRange, ...]
    content: Digest
    num_bytes: int

    @property
    def whole(self) -> bool:
        """Whether it is made of whole files, not of lines or row groups of one."""
        return self.format not in ("jsonl", "parquet") or bool(self.compression)


def plan_source(
    source: SourceSpec, root: Path, target_bytes: int = TARGET_BYTES
) -> list[Partition]:
    """Cuts a whole source into partitions; reads every byte once or twice.

    Args:
        root: the workspace's root.
        target_bytes: mean size of a partition, 1 or more.

    Raises:
        NotFound: nothing matches the source's path.
        ConfigError: the path names something that is no readable file.
        Conflict: a file became shorter meanwhile.
        Unavailable: the disk does not answer.
    """
    files = list_files(source, root)
    whole: dict[str, list[SourceFile]] = {}
    parts: list[Partition] = []
    for file in files:
        compression = compression_of(source, file.path)
        if source.format in ("jsonl", "parquet") and not compression:
            parts += plan_file(source, file, root, target_bytes)
        else:
            whole.setdefault(compression, []).append(file)
    for compression, group in sorted(whole.items()):
        parts += plan_whole_files(source, group, root, compression, target_bytes)
    return parts


def plan_file(
    source: SourceSpec, file: SourceFile, root: Path, target_bytes: int = TARGET_BYTES
) -> Iterator[Partition]:
    """Cuts one plain JSONL or Parquet file; files can be planned side by side.

    Raises:
        NotFound, ConfigError, Conflict, Unavailable: as `plan_source`.
    """
    with reading(f"source {source.name}: {file.path!r}"):
        if source.format == "parquet":
            yield from _plan_parquet(source, file, root, target_bytes)
        else:
            yield from _plan_lines(source, file, root, target_bytes)


def plan_whole_files(
    source: SourceSpec,
    files: Sequence[SourceFile],
    root: Path,
    compression: str,
    target_bytes: int = TARGET_BYTES,
) -> list[Partition]:
    """Groups whole files, so that a million small ones are few partitions.

    They are taken by digest, not by path: a name changes nothing.

    Raises:
        NotFound, ConfigError, Unavailable: as `plan_source`.
    """
    found = []
    for file in files:
        with reading(f"source {source.name}: {file.path!r}"):
            found.append((digest_of_file(root / file.path), file))
    found.sort()
    sizes = [file.size_bytes + _FILE_COST_BYTES for _, file in found]
    digests = [digest for digest, _ in found]
    parts, start = [], 0
    for end in cut_positions(sizes, digests, target_bytes):
        ranges = tuple(FileRange(file.path, 0, file.size_bytes) for _, file in found[start:end])
        content = files_content(compression, digests[start:end])
        num_bytes = sum(part.length for part in ranges)
        parts.append(Partition(source.name, source.format, compression, ranges, content, num_bytes))
        start = end
    return parts


def files_content(compression: str, digests: Sequence[Digest]) -> Digest:
    """The content digest of a group of whole files; the same bytes read plain are others."""
    parts = (digest.raw for digest in digests)
    return digest_of(frame(b"shardline/files/v1", compression.encode(), *parts))


def broken_content(digest: Digest) -> Digest:
    """The content digest of a Parquet file whose footer cannot be read, or has no rows."""
    return digest_of(frame(b"shardline/no-row-groups/v1", digest.raw))


def compression_of(source: SourceSpec, path: str) -> str:
    """A compression by the ending, or empty.

    Raises:
        ConfigError: a compressed file of a format that is compressed inside.
    """
    ending = Path(path).suffix.lower()
    compression = COMPRESSIONS.get(ending, "")
    if compression and source.format in ("parquet", "arrow"):
        raise ConfigError(
            f"source {source.name}: {path!r}: {source.format} files are not read from {ending}",
            "unpack it first",
        )
    return compression


@contextmanager
def _descriptor(path: Path) -> Iterator[int]:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield file
    finally:
        os.close(file)


def _plan_lines(
    source: SourceSpec, file: SourceFile, root: Path, target_bytes: int
) -> Iterator[Partition]:
    with _descriptor(root / file.path) as descriptor:
        size = os.fstat(descriptor).st_size
        start = 0
        while start < size or size == 0:
            end = next_cut(descriptor, start, size, target_bytes)
            content = _digest_of_range(descriptor, start, end)
            ranges = (FileRange(file.path, start, end - start, start),)
            yield Partition(source.name, "jsonl", "", ranges, content, end - start)
            if end == size:
                return
            start = end


def _digest_of_range(descriptor: int, start: int, end: int) -> Digest:
    # The bytes were read a moment ago by the search for the cut: they come from memory.
    hasher = hashlib.sha256()
    while start < end and (block := os.pread(descriptor, min(_READ_BYTES, end - start), start)):
        hasher.update(block)
        start += len(block)
    return Digest(hasher.digest())


def _plan_parquet(
    source: SourceSpec, file: SourceFile, root: Path, target_bytes: int
) -> Iterator[Partition]:
    path = root / file.path
    try:
        with RowGroups(path) as groups:
            filled = range(groups.count if groups.total_rows else 0)
            sizes = [groups.size_bytes(i) for i in filled]
            digests = [groups.digest(i) for i in filled]
            rows = [groups.num_rows(i) for i in filled]
    except CorruptParquet:
        sizes, digests, rows = [], [], []
    if not sizes:
        content = broken_content(digest_of_file(path))
        ranges = (FileRange(file.path, 0, 0),)
        yield Partition(source.name, "parquet", "", ranges, content, file.size_bytes)
    start = 0
    for end in cut_positions(sizes, digests, target_bytes):
        ranges = (FileRange(file.path, start, end - start, sum(rows[:start])),)
        content = row_groups_content(digests[start:end])
        yield Partition(source.name, "parquet", "", ranges, content, sum(sizes[start:end]))
        start = end


def row_groups_content(digests: Sequence[Digest]) -> Digest:
    """The content digest of a run of row groups, from theirs."""
    return digest_of(frame(b"shardline/row-groups/v1", *(digest.raw for digest in digests)))
