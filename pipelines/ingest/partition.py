"""Partitions: the units of work into which a source is planned.

A partition's content digest names what a build reads, and nothing else: no path, no
time, no place in a file. What was built from the same content is used again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from lineage.errors import NotFound
from pipelines.ingest.columnar.runs import broken_content, row_groups_content, row_runs
from pipelines.ingest.places.archives import archive_ranges
from pipelines.ingest.places.cuts import cut_runs, next_cut
from pipelines.ingest.places.endings import PAIRED, SEEKABLE, compression_of
from pipelines.ingest.places.files import SourceFile
from pipelines.ingest.places.grouping import Partition, Whole, alone, grouped, partition_content
from pipelines.ingest.places.members import digest_of_range, pieces_of, survey
from pipelines.ingest.places.opening import Opener, OpenFile, SourceFiles
from pipelines.ingest.places.ranges import FileRange
from pipelines.spec.source import SourceSpec

__all__ = [
    "FilePlan",
    "FileRange",
    "Partition",
    "broken_content",
    "compression_of",
    "plan_file",
    "plan_source",
    "planned",
    "row_groups_content",
]

TARGET_BYTES = 16 << 20
# What is smaller than this share of a partition is taken together with others.
_SMALL_SHARE = 4
# Text that is packed takes about this share of its bytes.
_PACKED_SHARE = 4
# Digests and system calls leave Python alone, so that threads share the work.
_THREADS = min(8, os.cpu_count() or 1)
# A file is handed over with some of its neighbours: a small one costs less than a thread's wait.
_FILES_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class FilePlan:
    """What one file gives to the plan of its source.

    Attributes:
        partitions: cut out of it, in its order.
        small: too small to be partitions of their own: the file itself, or members of it.
    """

    partitions: tuple[Partition, ...]
    small: tuple[Whole, ...]


def plan_source(
    source: SourceSpec, files: SourceFiles, target_bytes: int = TARGET_BYTES
) -> list[Partition]:
    """Cuts a whole source into partitions; reads every byte once or twice.

    The same as `planned` of `plan_file` of each file that `files` lists. Members of big
    compressed streams and of compressed archives are found by unpacking them once.

    Args:
        files: who lists and opens the source's files.
        target_bytes: mean size of a partition, 1 or more.

    Raises:
        NotFound: nothing matches the source's path, or archives hold nothing of its format.
        ConfigError: the path names something that is no readable file.
        Conflict: a file became shorter meanwhile, or an object was replaced.
        AccessDenied: an object store refuses.
        Unavailable: the disk or the store does not answer.
    """
    listed = files.list(source)
    some = [listed[at : at + _FILES_AT_ONCE] for at in range(0, len(listed), _FILES_AT_ONCE)]

    def plan(part: list[SourceFile]) -> list[FilePlan]:
        return [plan_file(source, file, files, target_bytes) for file in part]

    with ThreadPoolExecutor(_THREADS) as threads:
        plans = threads.map(plan, some)
        return planned(source, (item for part in plans for item in part), target_bytes)


def plan_file(
    source: SourceSpec, file: SourceFile, files: SourceFiles, target_bytes: int = TARGET_BYTES
) -> FilePlan:
    """Plans one file; files can be planned side by side, in any process.

    Memory: a few MiB, and what the plan itself is: some 500 bytes a member or a cut.

    Raises:
        NotFound, ConfigError, Conflict, AccessDenied, Unavailable: as `plan_source`.
    """
    with Opener(source, files) as opener:
        if source.format == PAIRED:
            return FilePlan((_pair(source, file, opener),), ())
        with opener.open(file.path, file.state) as opened:
            found = list(_Planning(source, file, opened, target_bytes).found())
    partitions = [item for item in found if isinstance(item, Partition)]
    small = []
    for item in found:
        if isinstance(item, Partition):
            continue
        if item.num_bytes * _SMALL_SHARE < target_bytes:
            small.append(item)
        else:
            partitions.append(alone(source.name, source.format, item))
    return FilePlan(tuple(partitions), tuple(small))


def planned(
    source: SourceSpec, plans: Iterable[FilePlan], target_bytes: int = TARGET_BYTES
) -> list[Partition]:
    """The partitions of a source, from the plans of its files in their sorted order.

    Raises:
        NotFound: there is nothing to read.
    """
    parts: list[Partition] = []
    small: list[Whole] = []
    for plan in plans:
        parts += plan.partitions
        small += plan.small
    parts += grouped(source.name, source.format, small, target_bytes)
    if not parts:
        raise NotFound(
            f"source {source.name}: {source.path}: nothing matches",
            f"no {source.format} file lies in these archives",
        )
    return parts


def _pair(source: SourceSpec, index: SourceFile, opener: Opener) -> Partition:
    """An index, and the ids beside it that it stands for: one partition."""
    compression_of(source, index.path)
    ids = index.path.removesuffix(".idx") + ".bin"
    ranges, contents = [], []
    for path, state in ((index.path, index.state), (ids, "")):
        with opener.open(path, state) as opened:
            whole = FileRange(path, 0, opened.size_bytes, state=state)
            contents.append(digest_of_range(opened, 0, opened.size_bytes))
        ranges.append(whole.with_content(contents[-1]))
    content = partition_content(source.format, "", contents)
    return Partition(source.name, source.format, "", tuple(ranges), content, ranges[1].length)


class _Planning:
    """One open file on its way into partitions."""

    def __init__(
        self, source: SourceSpec, file: SourceFile, opened: OpenFile, target_bytes: int
    ) -> None:
        self._source, self._file, self._opened = source, file, opened
        self._target = target_bytes

    def found(self) -> Iterator[Partition | Whole]:
        """Partitions, and what may be taken together with others."""
        source, opened = self._source, self._opened
        compression = compression_of(source, self._file.path)
        whole = FileRange(self._file.path, 0, opened.size_bytes, state=self._file.state)
        if compression in ("zip", "tar"):
            yield from self._members(compression)
        elif compression.startswith("tar."):
            yield from self._compressed_archive(compression)
        elif source.format in SEEKABLE:
            yield from self._rows()
        elif compression:
            yield from self._packed(whole, compression)
        else:
            yield from self._plain(whole)

    def _plain(self, whole: FileRange) -> Iterator[Partition | Whole]:
        """A plain file, or a member that lies in its archive as it is."""
        if self._source.format != "jsonl" or whole.length * _SMALL_SHARE < self._target:
            yield self._whole("", whole)
            return
        start, end = whole.start, whole.start + whole.length
        while start < end:
            cut = next_cut(self._opened, start, end, self._target)
            # The bytes were read a moment ago by the search for the cut.
            content = digest_of_range(self._opened, start, cut)
            base = start - whole.start
            part = replace(
                whole, start=start, length=cut - start, offset_base=base, content=content
            )
            yield alone(self._source.name, "jsonl", Whole("", part, part.length))
            start = cut

    def _packed(self, whole: FileRange, compression: str) -> Iterator[Partition | Whole]:
        source, opened = self._source, self._opened
        seen = survey(opened, source.format, compression)
        target = max(self._target // _PACKED_SHARE, 1)
        if not seen.members or whole.length < target:
            yield Whole(compression, replace(whole, content=seen.digest), whole.length)
            return
        runs = cut_runs(pieces_of(opened, source.format, compression), target)
        for run in runs:
            first, last = run[0], run[-1]
            part = replace(
                whole,
                start=first.start,
                length=last.end - first.start,
                offset_base=first.base,
                skip=first.skip,
                take=None if last.stop is None else last.stop - first.base,
            )
            part = part.with_content(digest_of_range(opened, first.start, last.end))
            num_bytes = sum(piece.size for piece in run)
            yield alone(source.name, source.format, Whole(compression, part, num_bytes))

    def _rows(self) -> Iterator[Partition | Whole]:
        format_ = self._source.format
        runs = list(row_runs(format_, self._file, self._opened, self._target))
        if len(runs) == 1:
            yield runs[0]
            return
        for run in runs:
            yield alone(self._source.name, format_, run)

    def _members(self, kind: str) -> Iterator[Partition | Whole]:
        for part in archive_ranges(self._source, self._file, self._opened, kind):
            inner = "" if part.unreadable else compression_of(self._source, part.member)
            if part.packed is None and part.unreadable is None and not inner:
                yield from self._plain(part)
            else:
                yield Whole(inner, part, part.length)

    def _compressed_archive(self, kind: str) -> Iterator[Partition | Whole]:
        """One stream, which cannot be entered in the middle: one partition."""
        source, opened = self._source, self._opened
        members = tuple(archive_ranges(source, self._file, opened, kind))
        if members:
            content = digest_of_range(opened, 0, opened.size_bytes)
            whole = partition_content(source.format, kind, [content])
            yield Partition(source.name, source.format, kind, members, whole, opened.size_bytes)

    def _whole(self, compression: str, part: FileRange) -> Whole:
        if part.content is None:
            end = part.start + part.length
            part = part.with_content(digest_of_range(self._opened, part.start, end))
        return Whole(compression, part, part.length)
