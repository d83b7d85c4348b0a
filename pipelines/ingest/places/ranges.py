"""Ranges of files: what a partition is made of, small enough to be sent to a worker."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lineage.digest import Digest, digest_of, frame


@dataclass(frozen=True, slots=True)
class Packed:
    """How a member of a zip archive is packed, as the archive's directory says.

    Attributes:
        method: ``stored``, ``deflate``, ``bzip2``, ``lzma``, ``zst`` or ``xz``.
        num_bytes: its size unpacked.
        crc: CRC-32 of its unpacked bytes.
    """

    method: str
    num_bytes: int
    crc: int


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a member or an archive is not read: becomes a quarantine row.

    Attributes:
        reason: one of `pipelines.ingest.chunk.REASONS`.
        detail: what is wrong and where.
    """

    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class FileRange:
    """A part of a file.

    Attributes:
        path: posix path relative to the workspace's root, or absolute where outside it, or
            ``s3://``; of an archive's member that of the archive.
        start: first byte, or first row group of a Parquet or Arrow file.
        length: number of bytes, or of row groups; 0 is an empty or a broken file. Of a
            member of a compressed archive both count unpacked bytes of the archive.
        offset_base: what a record's offset counts from: the first byte of lines, or of the
            unpacked lines or records of a compressed stream, the first row of row groups.
        skip: unpacked bytes in front of its first record.
        take: unpacked bytes of its records, where bytes of others follow; else None.
        member: the member's name in its archive, which is only a name; or empty.
        state: of an object in a store, what must not have changed since it was listed.
        content: digest of what is read of it, if it is known.
        packed: of a member of a zip archive.
        unreadable: why it is only told, and not read; or None.
    """

    path: str
    start: int
    length: int
    offset_base: int = 0
    skip: int = 0
    take: int | None = None
    member: str = ""
    state: str = ""
    content: Digest | None = None
    packed: Packed | None = None
    unreadable: Unreadable | None = None

    @property
    def shown(self) -> str:
        """The path as it is shown: ``archive.zip!/inner/name.jsonl`` for a member."""
        return f"{self.path}!/{self.member}" if self.member else self.path

    def content_of(self, raw: Digest) -> Digest:
        """Its content digest, from the digest of its bytes as they lie in the file."""
        if self.skip or self.take is not None:
            raw = digest_of(frame(b"shardline/cut/v1", raw.raw, b"%d" % self.skip, self._taken))
        if self.packed is None and self.unreadable is None:
            return raw
        packed, wrong = self.packed, self.unreadable
        parts = [b"shardline/member/v1", raw.raw]
        if packed is not None:
            parts += [packed.method.encode(), b"%d" % packed.num_bytes, b"%d" % packed.crc]
        if wrong is not None:
            parts += [wrong.reason.encode(), wrong.detail.encode()]
        return digest_of(frame(*parts))

    @property
    def _taken(self) -> bytes:
        return b"" if self.take is None else b"%d" % self.take

    def with_content(self, raw: Digest) -> FileRange:
        """The same range with its content digest, from that of its bytes."""
        return replace(self, content=self.content_of(raw))
