"""Members of a compressed stream: where one big file can be cut for several workers.

gzip files may be many members one behind the other (bgzip, one for each record of a web
archive), and Zstandard files many frames (pzstd). Where one ends is known by unpacking it
alone, so the file is unpacked once, and nothing is kept. A record belongs to the run of
members in which it begins: where it goes on into the next member, that one is read by both.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lineage.digest import Digest
from pipelines.ingest.places.cuts import Piece
from pipelines.ingest.places.opening import OpenFile, blocks_of
from pipelines.ingest.places.streams import StreamFault, decompressed


def _line_begins(tail: bytes, out: bytes, _: bool) -> int:
    if tail.endswith(b"\n"):
        return 0
    # A byte of the line must be there: an end is no beginning.
    return out.find(b"\n", 0, len(out) - 1) + 1 or -1


def _capture_begins(tail: bytes, out: bytes, first: bool) -> int:
    return 0 if first and tail.endswith(b"\n\r\n") and out.startswith(b"WARC/") else -1


# Formats whose streams can be cut: where in some bytes a record begins, or -1, from the bytes
# before, those bytes, and whether they are the first of a member.
_JOINTS: dict[str, Callable[[bytes, bytes, bool], int]] = {
    "jsonl": _line_begins,
    "warc": _capture_begins,
}
# A member's first bytes. The rarer flags and systems are left out: it is only for cuts.
_SIGNS = {
    "gz": re.compile(rb"\x1f\x8b\x08[\x00-\x1f].{4}[\x00\x02\x04][\x00-\x0d\xff]", re.DOTALL),
    "zst": re.compile(rb"\x28\xb5\x2f\xfd"),
}
_SIGN_BYTES = 16


@dataclass(frozen=True, slots=True)
class Surveyed:
    """A packed file that was read once.

    Attributes:
        digest: of its bytes.
        members: whether it may have more than one.
    """

    digest: Digest
    members: bool


def survey(file: OpenFile, format_: str, compression: str) -> Surveyed:
    """Digests a packed file, and looks for signs of members without unpacking it.

    Raises:
        OSError, Conflict, Unavailable: it cannot be read.
    """
    sign = _SIGNS.get(compression) if format_ in _JOINTS else None
    hasher, tail, found = hashlib.sha256(), b"", 0
    for block in blocks_of(file, 0, file.size_bytes):
        hasher.update(block)
        if sign is not None and found < 2:
            # One that lies across two blocks is seen with the second.
            seen = tail + block
            found += sum(1 for match in sign.finditer(seen) if match.end() > len(tail))
            tail = seen[1 - _SIGN_BYTES :]
    return Surveyed(Digest(hasher.digest()), found > 1)


@dataclass(slots=True)
class _Cut:
    """Where a run of members may begin.

    Attributes:
        start: first byte of the member in the file.
        end: where the next member begins, or the file ends.
        skip: unpacked bytes of the member in front of its first record.
        base: the same from the start of the unpacked stream.
    """

    start: int
    end: int
    skip: int
    base: int


def pieces_of(file: OpenFile, format_: str, compression: str) -> Iterator[Piece]:
    """The shortest runs of members in which a record begins.

    Their sizes add up to the file. What follows a fault lies in the last one.

    Raises:
        OSError, Conflict, Unavailable: the file cannot be read.
    """
    size = file.size_bytes
    here = _Cut(0, size, 0, 0)
    for there in _Walk(format_).cuts(file, compression):
        yield _piece(file, here, there)
        here = there
    yield _piece(file, here, None)


def _piece(file: OpenFile, here: _Cut, there: _Cut | None) -> Piece:
    start = file.size_bytes if there is None else there.start
    digest = digest_of_range(file, here.start, start)
    if there is None or not there.skip:
        return Piece(here.start, start - here.start, here.base, digest, here.skip, start)
    # The last record ends inside the next member.
    return Piece(
        here.start, start - here.start, here.base, digest, here.skip, there.end, there.base
    )


def digest_of_range(file: OpenFile, start: int, end: int) -> Digest:
    """The digest of some bytes of a file.

    Raises:
        Conflict: the file ends before the range does.
    """
    hasher = hashlib.sha256()
    for block in blocks_of(file, start, end):
        hasher.update(block)
    return Digest(hasher.digest())


class _Walk:
    """Unpacks a file once, and remembers where in its members records begin."""

    def __init__(self, format_: str) -> None:
        self._record_begins = _JOINTS[format_]
        self._begun: int | None = None
        self._tail = b""
        self._passed = 0

    def cuts(self, file: OpenFile, compression: str) -> Iterator[_Cut]:
        """One cut a member at most, in order, never in the first member."""
        found: _Cut | None = None
        start = first = 0
        try:
            for out in decompressed(
                blocks_of(file, 0, file.size_bytes), compression, 0, self._begin
            ):
                if not out:
                    continue
                if self._begun is not None:
                    if found is not None:
                        found.end = self._begun
                        yield found
                    found, start, first, self._begun = None, self._begun, self._passed, None
                if start and found is None and self._passed:
                    at = self._record_begins(self._tail, out, self._passed == first)
                    if at >= 0:
                        base = self._passed + at
                        found = _Cut(start, file.size_bytes, base - first, base)
                self._tail = (self._tail + out[-4:])[-4:]
                self._passed += len(out)
        except StreamFault:
            pass
        if found is not None:
            yield found

    def _begin(self, at: int) -> None:
        # A member without a byte belongs to the next one that has some.
        if self._begun is None:
            self._begun = at
