"""Zip archives: which members there are and where they lie, and their bytes unpacked.

Nothing is ever extracted: a member is a range of the archive. The directory at the end
is read as a stream, so a million members cost the memory of those that are wanted. What
it says of a member must agree with what stands in front of the member itself: programs
that disagree on which of the two they believe would read different texts.
Source: PKWARE APPNOTE 6.3.10.
"""

from __future__ import annotations

import bz2
import lzma
import stat
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from pipelines.ingest.places.opening import OpenFile
from pipelines.ingest.places.ranges import Packed, Unreadable
from pipelines.ingest.places.streams import StreamFault, by_members, decompressed, inflated

_METHODS = {0: "stored", 8: "deflate", 12: "bzip2", 14: "lzma", 93: "zst", 95: "xz"}
_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR = struct.Struct("<4sLQL")
_ENTRY = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_MAX_COMMENT_BYTES = 0xFFFF
_READ_BYTES = 1 << 20
_ENCRYPTED, _SIZES_BEHIND, _UTF8 = 0x0001, 0x0008, 0x0800
_LZMA_MEMORY_BYTES = 1 << 28
_OUT_BYTES = 1 << 16


class CorruptZip(Exception):
    """No zip archive, or a directory that cannot be read: becomes a quarantine row."""


@dataclass(frozen=True, slots=True)
class ZipMember:
    """One member, as the directory says.

    Attributes:
        name: only a name, whatever it says.
        start: the first byte of its data; until `located`, of the header in front of them.
        num_bytes: bytes of its data.
        packed: how they are packed.
        unreadable: why they are not read, or None.
    """

    name: str
    start: int
    num_bytes: int
    packed: Packed
    unreadable: Unreadable | None
    header: _Header


@dataclass(frozen=True, slots=True)
class _Header:
    """What must stand in front of the data too."""

    raw_name: bytes
    flags: int
    method: int


def zip_members(file: OpenFile, wanted: Callable[[str], bool]) -> Iterator[ZipMember]:
    """The wanted members that are no folders, in the order of the directory.

    Raises:
        CorruptZip: before or between members; those before it stand.
    """
    count, start, end, shift = _directory(file)
    found = 0
    for entry in _entries(file, start, end):
        found += 1
        member = _member(*entry, shift)
        if member is not None and wanted(member.name):
            yield member
    if found != count:
        raise CorruptZip(f"{found} of {count} members stand in the directory")


def located(file: OpenFile, members: Iterable[ZipMember]) -> Iterator[ZipMember]:
    """The same members in the order in which they lie, each compared with its own header."""
    taken = 0
    for member in sorted(members, key=lambda member: member.start):
        there = _there(file, member)
        # Members that share bytes are how a small archive pretends to be a huge one.
        if there.unreadable is None and member.start < taken:
            there = _refused(there, "unreadable_member", "lies inside another member")
        taken = max(taken, there.start + there.num_bytes)
        yield there


def unpacked(blocks: Iterable[bytes], packed: Packed) -> Iterator[bytes]:
    """The bytes of a member.

    Raises:
        StreamFault: after everything before the fault was given; also where size or check
            sum are not those of the directory.
    """
    crc, size = 0, 0
    for block in _unpackers[packed.method](blocks):
        # No archive can make us unpack more than it owns up to.
        over = size + len(block) - packed.num_bytes
        part = block[: len(block) - over] if over > 0 else block
        crc, size = zlib.crc32(part, crc), size + len(part)
        yield part
        if over > 0:
            raise StreamFault("corrupt_stream", f"a zip member longer than {size} bytes")
    if size < packed.num_bytes:
        raise StreamFault(
            "truncated_stream", f"a zip member of {packed.num_bytes} bytes ends early"
        )
    if crc != packed.crc:
        raise StreamFault("corrupt_stream", "a zip member with a wrong check sum")


def _directory(file: OpenFile) -> tuple[int, int, int, int]:
    """Members, first byte and end of the directory, and bytes in front of the archive."""
    size = file.size_bytes
    tail_at = max(size - _MAX_COMMENT_BYTES - _END.size, 0)
    tail = file.read_at(tail_at, size - tail_at)
    at = _last_end(tail)
    _, disk, _, _, count, num_bytes, start, _ = _END.unpack_from(tail, at)
    end = tail_at + at
    locator = file.read_at(end - _LOCATOR.size, _LOCATOR.size) if end >= _LOCATOR.size else b""
    if locator.startswith(b"PK\6\7"):
        at64 = end - _LOCATOR.size - _END64.size
        record = file.read_at(at64, _END64.size) if at64 >= 0 else b""
        if not record.startswith(b"PK\6\6"):
            record = file.read_at(_LOCATOR.unpack(locator)[2], _END64.size)
            at64 = _LOCATOR.unpack(locator)[2]
        if not record.startswith(b"PK\6\6") or len(record) < _END64.size:
            raise CorruptZip("no 64-bit end of a directory")
        _, _, _, _, disk, _, _, count, num_bytes, start = _END64.unpack(record)
        end = at64
    if disk:
        raise CorruptZip("one part of several")
    shift = end - num_bytes - start
    if shift < 0:
        raise CorruptZip("a directory that lies outside of the archive")
    return count, end - num_bytes, end, shift


def _last_end(tail: bytes) -> int:
    """Where the end of the directory stands; a comment behind it may look like one too."""
    limit = len(tail) - _END.size + 4
    last = at = tail.rfind(b"PK\5\6", 0, max(limit, 0))
    while at >= 0:
        if at + _END.size + int.from_bytes(tail[at + 20 : at + 22], "little") == len(tail):
            return at
        at = tail.rfind(b"PK\5\6", 0, at + 3)
    if last < 0:
        raise CorruptZip("no end of a directory")
    return last


def _entries(file: OpenFile, start: int, end: int) -> Iterator[tuple[list[int], bytes, bytes]]:
    """Numbers, name and extra fields of each entry of the directory."""
    held, at = b"", start
    while held or at < end:
        # An entry is at most three times 64 KiB.
        if len(held) < 4 * _MAX_COMMENT_BYTES and at < end:
            block = file.read_at(at, min(_READ_BYTES, end - at))
            at += len(block)
            held += block
            if not block:
                raise CorruptZip("a directory that ends early")
        place = 0
        limit = len(held) - (4 * _MAX_COMMENT_BYTES if at < end else 0)
        while place < limit:
            if not held.startswith(b"PK\1\2", place) or len(held) - place < _ENTRY.size:
                raise CorruptZip("a damaged directory")
            numbers = list(_ENTRY.unpack_from(held, place)[1:])
            name_at = place + _ENTRY.size
            extra_at = name_at + numbers[9]
            place = extra_at + numbers[10] + numbers[11]
            if place > len(held):
                raise CorruptZip("a damaged directory")
            yield numbers, held[name_at:extra_at], held[extra_at : extra_at + numbers[10]]
        held = held[place:]


def _member(numbers: list[int], raw_name: bytes, extra: bytes, shift: int) -> ZipMember | None:
    made_by, _, flags, method, _, _, crc, packed_size, size = numbers[:9]
    disk, _, attributes, start = numbers[12], numbers[13], numbers[14], numbers[15]
    name = _name(raw_name, flags)
    mode = attributes >> 16 if made_by >> 8 == 3 else 0
    if name.endswith("/") or stat.S_ISDIR(mode):
        return None
    large = _large(extra, (size, packed_size, start))
    packed = Packed(_METHODS.get(method, str(method)), 0, crc)
    header = _Header(raw_name, flags, method)
    if large is None or disk:
        wrong = Unreadable("unreadable_member", "a damaged entry of the directory")
        return ZipMember(name, start + shift, 0, packed, wrong, header)
    size, packed_size, start = large
    unreadable = None
    if flags & _ENCRYPTED:
        unreadable = Unreadable("encrypted_member", "needs a password")
    elif stat.S_ISLNK(mode):
        unreadable = Unreadable("unreadable_member", "a link; links are not followed")
    elif method not in _METHODS:
        unreadable = Unreadable("unreadable_member", f"packed by method {method}")
    packed = replace(packed, num_bytes=size)
    return ZipMember(name, start + shift, packed_size, packed, unreadable, header)


def _name(raw: bytes, flags: int) -> str:
    try:
        # Many programs write UTF-8 and do not say so.
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("utf-8", "backslashreplace") if flags & _UTF8 else raw.decode("cp437")


def _large(extra: bytes, numbers: tuple[int, int, int]) -> tuple[int, int, int] | None:
    """Sizes and place; those of 64 bits stand in an extra field, in this order."""
    at, field = 0, b""
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<2H", extra, at)
        if kind == 1:
            field = extra[at + 4 : at + 4 + size]
        at += 4 + size
    found = []
    for number in numbers:
        if number == 0xFFFFFFFF:
            if len(field) < 8:
                return None
            number, field = int.from_bytes(field[:8], "little"), field[8:]
        found.append(number)
    return found[0], found[1], found[2]


def _there(file: OpenFile, member: ZipMember) -> ZipMember:
    raw = file.read_at(member.start, _LOCAL.size + len(member.header.raw_name))
    wrong = "no header in front of it"
    if raw.startswith(b"PK\3\4") and len(raw) == _LOCAL.size + len(member.header.raw_name):
        _, _, flags, method, _, _, crc, packed_size, size, name_size, extra_size = (
            _LOCAL.unpack_from(raw)
        )
        start = member.start + _LOCAL.size + name_size + extra_size
        extra = file.read_at(start - extra_size, extra_size)
        large = _large(extra, (size, packed_size, 0))
        told = (crc, size, packed_size) if large is None else (crc, large[0], large[1])
        wrong = _disagreement(member, raw[_LOCAL.size :], name_size, flags, method, told)
        if not wrong and start + member.num_bytes > file.size_bytes:
            wrong = "reaches behind the end of the archive"
        if not wrong:
            return replace(member, start=start)
    if member.unreadable is not None:
        return replace(member, num_bytes=0)
    return replace(_refused(member, "unreadable_member", wrong), num_bytes=0)


def _disagreement(
    member: ZipMember,
    name: bytes,
    name_size: int,
    flags: int,
    method: int,
    told: tuple[int, int, int],
) -> str:
    """On what the header and the directory disagree, or empty."""
    header, packed = member.header, member.packed
    if name_size != len(header.raw_name) or name != header.raw_name:
        return "header and directory disagree on its name"
    if method != header.method or (flags ^ header.flags) & _ENCRYPTED:
        return "header and directory disagree on how it is packed"
    sizes = (packed.crc, packed.num_bytes, member.num_bytes)
    # Whoever writes a stream knows sizes and check sum behind the data only.
    if told != sizes and not (flags & _SIZES_BEHIND and not any(told)):
        return "header and directory disagree on its size"
    return ""


def _refused(member: ZipMember, reason: str, detail: str) -> ZipMember:
    return replace(member, unreadable=Unreadable(reason, detail))


def _deflated(blocks: Iterable[bytes]) -> Iterator[bytes]:
    member, at = zlib.decompressobj(-zlib.MAX_WBITS), 0
    for block in blocks:
        if member.eof:
            return
        yield from inflated(member, block, at, "deflate")
        at += len(block)


def _lzma(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """A stream of LZMA with the header that zip puts in front: version, size, properties."""
    source, head = iter(blocks), b""
    while len(head) < 9 and (block := next(source, b"")):
        head += block
    byte, memory = (head[4], int.from_bytes(head[5:9], "little")) if len(head) >= 9 else (255, 0)
    if head[2:4] != b"\5\0" or byte >= 225 or memory > _LZMA_MEMORY_BYTES:
        raise StreamFault("corrupt_stream", "a zip member with a damaged header of LZMA")
    properties = {
        "id": lzma.FILTER_LZMA1,
        "dict_size": memory,
        "lc": byte % 9,
        "lp": byte // 9 % 5,
        "pb": byte // 45,
    }
    member = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[properties])
    for block in chain([head[9:]], source):
        data = block
        while (data or not member.needs_input) and not member.eof:
            try:
                yield member.decompress(data, _OUT_BYTES)
            except lzma.LZMAError as error:
                raise StreamFault("corrupt_stream", f"lzma: {error}") from None
            data = b""


def _bunzipped(blocks: Iterable[bytes]) -> Iterator[bytes]:
    return by_members(blocks, "bzip2", bz2.BZ2Decompressor, OSError)


def _unzstd(blocks: Iterable[bytes]) -> Iterator[bytes]:
    return decompressed(blocks, "zst")


def _unxz(blocks: Iterable[bytes]) -> Iterator[bytes]:
    return decompressed(blocks, "xz")


_unpackers: dict[str, Callable[[Iterable[bytes]], Iterator[bytes]]] = {
    "stored": iter,
    "deflate": _deflated,
    "bzip2": _bunzipped,
    "lzma": _lzma,
    "zst": _unzstd,
    "xz": _unxz,
}
