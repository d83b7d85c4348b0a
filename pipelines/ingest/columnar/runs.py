"""Planning files of row groups (Parquet) or record batches (Arrow): runs of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lineage.digest import Digest, digest_of, frame
from pipelines.ingest.columnar.groups import groups_of
from pipelines.ingest.columnar.rowgroups import CorruptFile, Groups
from pipelines.ingest.places.cuts import cut_positions
from pipelines.ingest.places.files import SourceFile
from pipelines.ingest.places.grouping import Whole
from pipelines.ingest.places.members import digest_of_range
from pipelines.ingest.places.opening import OpenFile, native
from pipelines.ingest.places.ranges import FileRange


def row_runs(
    format_: str, file: SourceFile, opened: OpenFile, target_bytes: int
) -> Iterator[Whole]:
    """Runs of about so many bytes; a file without rows, or that is none, is one run of none.

    Raises:
        OSError, Conflict, Unavailable: it cannot be read.
    """
    whole = FileRange(file.path, 0, 0, state=file.state)
    try:
        groups = groups_of(format_, native(opened))
        runs = list(_runs(groups, whole, target_bytes)) if groups.total_rows else []
    except CorruptFile:
        runs = []
    if not runs:
        content = broken_content(digest_of_range(opened, 0, opened.size_bytes))
        runs = [Whole("", replace(whole, content=content), file.size_bytes)]
    yield from runs


def _runs(groups: Groups, whole: FileRange, target_bytes: int) -> Iterator[Whole]:
    sizes = [groups.size_bytes(i) for i in range(groups.count)]
    digests = [groups.digest(i) for i in range(groups.count)]
    start = rows = 0
    for end in cut_positions(sizes, digests, target_bytes):
        content = row_groups_content(digests[start:end])
        part = replace(whole, start=start, length=end - start, offset_base=rows, content=content)
        yield Whole("", part, sum(sizes[start:end]))
        rows += sum(groups.num_rows(i) for i in range(start, end))
        start = end


def broken_content(digest: Digest) -> Digest:
    """The content digest of a file of rows that is none, or has no rows."""
    return digest_of(frame(b"shardline/no-row-groups/v1", digest.raw))


def row_groups_content(digests: Sequence[Digest]) -> Digest:
    """The content digest of a run of row groups, from theirs."""
    return digest_of(frame(b"shardline/row-groups/v1", *(digest.raw for digest in digests)))
