"""Tar archives: their members, one behind the other, out of a file or an unpacked stream.

Nothing is ever extracted. A damaged header loses what lies up to the next good one, and
that is told; tarfile of the standard library ends there without a word. Members behind an
end mark (archives that were joined) are read too.
Source: POSIX.1-2017 pax, GNU tar 1.35 (long names, sparse files).
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from pipelines.ingest.places.opening import OpenFile
from pipelines.ingest.places.ranges import Unreadable
from pipelines.ingest.places.streams import StreamFault

_BLOCK = tarfile.BLOCKSIZE
# A name that is longer is damage.
_MAX_HEADER_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class TarMember:
    """One member that is no folder, or damage that hides some.

    Attributes:
        name: only a name, whatever it says; empty for damage.
        start: its first byte in the unpacked archive.
        num_bytes: its size; more than what is left where the archive was cut.
        unreadable: why it is not read, or None.
    """

    name: str
    start: int
    num_bytes: int
    unreadable: Unreadable | None = None


class Tape(Protocol):
    """An archive that is read forwards.

    Attributes:
        position: of the next byte.
    """

    position: int

    def read(self, size: int) -> bytes:
        """So many bytes; fewer only at the end.

        Raises:
            StreamFault: the stream breaks before.
        """
        ...

    def go_to(self, position: int) -> bool:
        """Goes forwards to a byte; False where the archive ends before.

        Raises:
            StreamFault: the stream breaks before.
        """
        ...


class FileTape:
    """An archive that lies in a file as it is; see `Tape`."""

    def __init__(self, file: OpenFile) -> None:
        self._file, self.position = file, 0
        self._held, self._held_at = b"", 0

    def read(self, size: int) -> bytes:
        start = self.position - self._held_at
        if not 0 <= start <= start + size <= len(self._held):
            # Headers of small members lie near each other.
            self._held = self._file.read_at(self.position, max(size, 16 * _BLOCK))
            self._held_at, start = self.position, 0
        data = self._held[start : start + size]
        self.position += len(data)
        return data

    def go_to(self, position: int) -> bool:
        self.position = min(position, self._file.size_bytes)
        return position <= self._file.size_bytes


class StreamTape:
    """An archive out of a stream; see `Tape`.

    Args:
        blocks: of at most a few MiB; a `StreamFault` ends it, and is raised once.
    """

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks = iter(blocks)
        self._held = b""
        self._at = 0
        self.position = 0

    def read(self, size: int) -> bytes:
        return b"".join(self.take(size))

    def go_to(self, position: int) -> bool:
        for _ in self.take(position - self.position):
            pass
        return self.position == position

    def take(self, size: int) -> Iterator[bytes]:
        """So many bytes in blocks; fewer only at the end.

        Raises:
            StreamFault: the stream breaks before.
        """
        while size > 0:
            if self._at == len(self._held):
                self._held, self._at = next(self._blocks, b""), 0
                if not self._held and not self._more():
                    return
            part = self._held[self._at : self._at + size]
            self._at += len(part)
            self.position += len(part)
            size -= len(part)
            yield part

    def _more(self) -> bool:
        # An empty block is not the end.
        for block in self._blocks:
            if block:
                self._held = block
                return True
        return False


def tar_members(tape: Tape, wanted: Callable[[str], bool]) -> Iterator[TarMember]:
    """The wanted members of an archive and its damage, in order.

    Whoever asks may read on from `start`, but not behind the member's last byte. That a
    wanted member is cut off is for its reader to tell.
    """
    walk = _Walk(tape, wanted)
    try:
        yield from walk.members()
    except StreamFault as fault:
        wrong = Unreadable(fault.reason, f"{fault.detail}, after {tape.position} unpacked bytes")
        yield TarMember("", tape.position, 0, wrong)


class _Walk:
    """One walk over an archive: what headers have said about the next member."""

    def __init__(self, tape: Tape, wanted: Callable[[str], bool]) -> None:
        self._tape, self._wanted = tape, wanted
        self._ended = False
        self._again = b""
        self._forget()

    def _forget(self) -> None:
        self._name: str | None = None
        self._size: int | None = None
        self._sparse = False

    def members(self) -> Iterator[TarMember]:
        while len(block := self._again or self._tape.read(_BLOCK)) == _BLOCK:
            self._again = b""
            if not block.strip(b"\0"):
                self._ended = True
                continue
            at = self._tape.position - _BLOCK
            header = _header(block)
            if header is None or (header.type in _ABOUT_NEXT and not self._about_next(header)):
                yield from self._damage(at)
            elif header.type not in _ABOUT_NEXT:
                self._ended = False
                yield from self._member(header, block)
        if block.strip(b"\0") or not self._ended:
            at = self._tape.position
            yield _damaged("truncated_stream", f"tar ends early at byte {at}", at, len(block))

    def _member(self, header: tarfile.TarInfo, block: bytes) -> Iterator[TarMember]:
        if header.type == tarfile.GNUTYPE_SPARSE:
            self._sparse, more = True, block[482:483]
            while more.strip(b"\0"):
                more = self._tape.read(_BLOCK)[504:505]
        name = header.name if self._name is None else self._name
        start, size = self._tape.position, self._data_bytes(header)
        wanted = not header.isdir() and self._wanted(name)
        if wanted:
            yield TarMember(name, start, size, self._wrong(header))
        self._forget()
        if self._tape.go_to(start + size):
            self._pad(start + size)
            return
        # What was cut off is told once: by the member's reader, or here.
        self._ended = True
        if not wanted:
            at = self._tape.position
            yield _damaged("truncated_stream", f"tar ends early at byte {at}", start, at - start)

    def _wrong(self, header: tarfile.TarInfo) -> Unreadable | None:
        if self._sparse:
            return Unreadable("unreadable_member", "a sparse file")
        if header.issym() or header.islnk():
            return Unreadable("unreadable_member", "a link; links are not followed")
        if header.type not in _FILES:
            return Unreadable("unreadable_member", "no ordinary file")
        return None

    def _data_bytes(self, header: tarfile.TarInfo) -> int:
        # Links and folders may state a size, but have no bytes.
        if header.isreg() or header.type not in tarfile.SUPPORTED_TYPES:
            return header.size if self._size is None else self._size
        return 0

    def _about_next(self, header: tarfile.TarInfo) -> bool:
        """Reads a header about the next member; False where it is damaged."""
        if header.size > _MAX_HEADER_BYTES:
            return False
        start = self._tape.position
        data = self._tape.read(header.size)
        self._pad(start + header.size)
        if header.type == tarfile.GNUTYPE_LONGNAME:
            self._name = _text(data.rstrip(b"\0"))
            return True
        return header.type not in _PAX or self._pax(data)

    def _pax(self, data: bytes) -> bool:
        while data.strip(b"\0"):
            number, _, _ = data.partition(b" ")
            if not number.isdigit() or len(number) > 8 or not 5 <= int(number) <= len(data):
                return False
            key, equals, value = data[len(number) + 1 : int(number) - 1].partition(b"=")
            data = data[int(number) :]
            if not equals:
                return False
            if key in (b"path", b"GNU.sparse.name"):
                self._name = _text(value)
            elif key == b"size":
                if not value.isdigit() or len(value) > 18:
                    return False
                self._size = int(value)
            self._sparse = self._sparse or key.startswith(b"GNU.sparse.")
        return True

    def _pad(self, end: int) -> None:
        self._tape.go_to(end + -end % _BLOCK)

    def _damage(self, at: int) -> Iterator[TarMember]:
        """Goes on at the next good header, or at the end."""
        self._forget()
        while len(block := self._tape.read(_BLOCK)) == _BLOCK:
            if block.strip(b"\0") and _header(block) is not None:
                self._again = block
                break
        # What is left over at the end is part of the same damage.
        self._ended = True
        end = self._tape.position - len(self._again)
        yield _damaged("corrupt_archive", f"tar at byte {at}: no header of a member", at, end - at)


_PAX = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE)
_ABOUT_NEXT = (
    *_PAX,
    tarfile.XGLTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
_FILES = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE)


def _damaged(reason: str, detail: str, at: int, size: int) -> TarMember:
    return TarMember("", at, size, Unreadable(reason, detail))


def _header(block: bytes) -> tarfile.TarInfo | None:
    try:
        header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return None
    header.name = _text(header.name.encode("utf-8", "surrogateescape"))
    return header if header.size >= 0 else None


def _text(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")
