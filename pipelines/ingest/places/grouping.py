"""Groups of pieces: a million small files, or members of archives, become few partitions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lineage.digest import Digest, digest_of, frame
from lineage.errors import IntegrityError
from pipelines.ingest.places.cuts import cut_positions
from pipelines.ingest.places.endings import SEEKABLE
from pipelines.ingest.places.ranges import FileRange

# Opening a file costs about as much as reading this many bytes.
_FILE_COST_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Partition:
    """One unit of work.

    Attributes:
        source: name of the source.
        format: one of `pipelines.spec.source.FORMATS`.
        compression: of each file or member: ``gz``, ``zst``, ``bz2``, ``xz`` or empty; or
            ``tar.gz`` and so on, where the files are the members of one compressed archive.
        files: ranges, in the order in which they are read.
        content: `partition_content` of the ranges' digests.
        num_bytes: bytes in the files, compressed where they are.
    """

    source: str
    format: str
    compression: str
    files: tuple[FileRange, ...]
    content: Digest
    num_bytes: int


@dataclass(frozen=True, slots=True)
class Whole:
    """A file or a member that is read as a whole, and may be taken together with others.

    Attributes:
        compression: as of a `Partition`.
        part: the whole of it, its content known.
        num_bytes: bytes in the file.
    """

    compression: str
    part: FileRange
    num_bytes: int

    @property
    def content(self) -> Digest:
        """Its content digest.

        Raises:
            IntegrityError: it is not known.
        """
        if self.part.content is None:
            raise IntegrityError(f"{self.part.shown!r} has no content digest")
        return self.part.content


def partition_content(format_: str, compression: str, contents: Sequence[Digest]) -> Digest:
    """The content digest of a partition, from those of its ranges.

    One range of plain lines or of row groups is its own; the same bytes read otherwise
    are another content.
    """
    alone = format_ in SEEKABLE or (format_ == "jsonl" and not compression)
    if alone and len(contents) == 1:
        return contents[0]
    parts = (digest.raw for digest in contents)
    return digest_of(frame(b"shardline/files/v1", compression.encode(), *parts))


def alone(source: str, format_: str, item: Whole) -> Partition:
    """A partition of one file or member."""
    return _partition(source, format_, item.compression, [item])


def grouped(
    source: str, format_: str, items: Iterable[Whole], target_bytes: int
) -> list[Partition]:
    """Partitions of about so many bytes, those of one compression together.

    Files are taken by digest, not by path: a name changes nothing.
    """
    by_compression: dict[str, list[Whole]] = {}
    for item in items:
        by_compression.setdefault(item.compression, []).append(item)
    parts = []
    for compression, group in sorted(by_compression.items()):
        group.sort(key=_place)
        sizes = [item.num_bytes + _FILE_COST_BYTES for item in group]
        start = 0
        for end in cut_positions(sizes, [item.content for item in group], target_bytes):
            parts.append(_partition(source, format_, compression, group[start:end]))
            start = end
    return parts


def _place(item: Whole) -> tuple[bytes, str, str, int]:
    return item.content.raw, item.part.path, item.part.member, item.part.start


def _partition(source: str, format_: str, compression: str, items: Sequence[Whole]) -> Partition:
    content = partition_content(format_, compression, [item.content for item in items])
    num_bytes = sum(item.num_bytes for item in items)
    return Partition(
        source, format_, compression, tuple(item.part for item in items), content, num_bytes
    )
