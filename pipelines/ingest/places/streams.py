"""Streams of bytes out of files: plain, gzip, Zstandard, bzip2, xz, each in bounded memory.

A stream that breaks gives everything that can be had before the break, then a
`StreamFault` that says where. Nothing here trusts a size that a file states.
"""

from __future__ import annotations

import bz2
import hashlib
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import zstandard

from lineage.digest import Digest
from pipelines.ingest.places.opening import OpenFile

BLOCK_BYTES = 1 << 20
# What zlib is handed at once: it copies what lies behind the end of a member.
_GZIP_PIECE_BYTES = 1 << 16
# One byte of gzip gives 1,032 at most.
_MAX_OUT_BYTES = 1 << 20
# What a decompressor that cannot go back gives at once.
_SMALL_OUT_BYTES = 1 << 12
# Four bytes of Zstandard may give 128 KiB: a piece of this size gives 8 MiB at most.
_ZSTD_PIECE_BYTES = 1 << 8
# A frame may ask for a window of 2 GiB; the usual limit is kept.
_ZSTD_WINDOW_BYTES = 1 << 27
# The largest preset asks for 65 MiB.
_XZ_MEMORY_BYTES = 1 << 28


@dataclass(frozen=True, slots=True)
class StreamFault(Exception):
    """A stream ends early or holds wrong bytes: becomes a quarantine row.

    Attributes:
        reason: ``truncated_stream`` or ``corrupt_stream``.
        detail: what and at which byte of the compressed file.
        clean: everything before was complete and its check sum agreed.
    """

    reason: str
    detail: str
    clean: bool = False


# Asked at the first byte of each member of a stream, with its place in the file.
Begun = Callable[[int], None]


class HashedRange:
    """The bytes of a range of a file in blocks of at most 1 MiB, digested as they pass.

    A range that reaches behind the end of the file gives fewer bytes.
    """

    def __init__(self, file: OpenFile, start: int, length: int) -> None:
        self._file, self._at, self._end = file, start, start + length
        self._hasher = hashlib.sha256()

    def __iter__(self) -> Iterator[bytes]:
        while self._at < self._end:
            block = self._file.read_at(self._at, min(BLOCK_BYTES, self._end - self._at))
            if not block:
                return
            self._hasher.update(block)
            self._at += len(block)
            yield block

    def digest_to_end(self) -> Digest:
        """The digest of the whole range; reads what nobody asked for yet."""
        for _ in self:
            pass
        return Digest(self._hasher.digest())


def decompressed(
    blocks: Iterable[bytes], compression: str, start: int = 0, begun: Begun | None = None
) -> Iterator[bytes]:
    """The bytes of a stream: ``gz``, ``zst``, ``bz2``, ``xz``, or as they are.

    Args:
        start: place of the first byte in its file, for messages and `begun`.
        begun: of ``gz`` and ``zst``, told where each member or frame begins.

    Raises:
        StreamFault: after everything before the fault was given.
    """
    if compression == "gz":
        return _gunzipped(blocks, start, begun)
    if compression == "zst":
        return _unzstd(blocks, start, begun)
    if compression == "bz2":
        return by_members(blocks, "bzip2", bz2.BZ2Decompressor, OSError, start)
    if compression == "xz":
        return by_members(blocks, "xz", _xz_member, lzma.LZMAError, start)
    return iter(blocks)


def window(stream: Iterable[bytes], skip: int, take: int | None) -> Iterator[bytes]:
    """Some bytes of a stream: all behind `skip`, or the first `take` of those.

    What lies behind them is not even unpacked.
    """
    for block in stream:
        part = block[skip:]
        skip -= len(block) - len(part)
        if not part:
            continue
        yield part if take is None else part[:take]
        if take is not None:
            take -= len(part)
            if take <= 0:
                return


def _xz_member() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(memlimit=_XZ_MEMORY_BYTES)


def by_members(
    blocks: Iterable[bytes],
    name: str,
    start: Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor],
    wrong: type[Exception],
    passed: int = 0,
) -> Iterator[bytes]:
    """Streams of one or more members, each ended by itself; see `decompressed`.

    Args:
        start: makes the decompressor of a member.
        wrong: what it raises.
        passed: place of the first byte in its file.
    """
    member, inside, first, given = start(), False, True, False
    # A call that fails throws away what it gave: so little that no line is missed.
    held = bytearray()
    for block in blocks:
        data = block
        while data or (inside and not member.needs_input and not member.eof):
            if not inside:
                # Zero bytes behind a member are padding.
                data = data if first else data.lstrip(b"\0")
                if not data:
                    break
            try:
                out = member.decompress(data, _SMALL_OUT_BYTES)
            except (wrong, EOFError) as error:
                yield bytes(held)
                detail = f"{name} near byte {passed}: {error}"
                raise StreamFault("corrupt_stream", detail, not (first or given)) from None
            held += out
            inside, given = True, given or bool(out)
            if len(held) >= _MAX_OUT_BYTES:
                yield bytes(held)
                held.clear()
            data = b""
            if member.eof:
                data, member = member.unused_data, start()
                inside, first, given = False, False, False
        passed += len(block)
    yield bytes(held)
    if inside:
        detail = f"{name} ends early at byte {passed}"
        raise StreamFault("truncated_stream", detail, not (first or given))


def _pieces(blocks: Iterable[bytes], size: int) -> Iterator[bytes]:
    for block in blocks:
        for start in range(0, len(block), size):
            yield block[start : start + size]


def _gunzipped(blocks: Iterable[bytes], passed: int, begun: Begun | None) -> Iterator[bytes]:
    member = zlib.decompressobj(zlib.MAX_WBITS | 16)
    inside, first, given = False, True, False
    for block in _pieces(blocks, _GZIP_PIECE_BYTES):
        data = block
        while data:
            if not inside:
                # Zero bytes behind a member are padding (tapes, block devices).
                data = data if first else data.lstrip(b"\0")
                if not data:
                    break
                member, inside, given = zlib.decompressobj(zlib.MAX_WBITS | 16), True, False
                if begun is not None:
                    begun(passed + len(block) - len(data))
            try:
                for out in inflated(member, data, passed + len(block) - len(data)):
                    given = given or bool(out)
                    yield out
            except StreamFault as fault:
                raise StreamFault(fault.reason, fault.detail, not (first or given)) from None
            data = member.unused_data
            if member.eof:
                inside, first = False, False
        passed += len(block)
    if inside:
        detail = f"gzip ends early at byte {passed}"
        raise StreamFault("truncated_stream", detail, not (first or given))


def inflated(member: zlib._Decompress, data: bytes, at: int, name: str = "gzip") -> Iterator[bytes]:
    """What some bytes of a member unpack to.

    Args:
        at: place of the first byte in its file.

    Raises:
        StreamFault: after everything before the fault was given.
    """
    while True:
        before = member.copy()
        try:
            out = member.decompress(data, _MAX_OUT_BYTES)
        except zlib.error:
            yield from _inflated_by_bytes(before, data, at, name)
            return
        yield out
        # At the end of a member `unconsumed_tail` keeps a stale copy of what lies behind.
        if member.eof:
            return
        at += len(data) - len(member.unconsumed_tail)
        data = member.unconsumed_tail
        if not data and len(out) < _MAX_OUT_BYTES:
            return


def _inflated_by_bytes(
    member: zlib._Decompress, data: bytes, at: int, name: str
) -> Iterator[bytes]:
    """Goes again over a piece that failed: zlib throws away what a failing call gave."""
    for i in range(len(data)):
        try:
            yield member.decompress(data[i : i + 1])
        except zlib.error as error:
            what = str(error).partition(": ")[2] or "damaged"
            raise StreamFault("corrupt_stream", f"{name} at byte {at + i}: {what}") from None
    raise StreamFault("corrupt_stream", f"{name} near byte {at + len(data)}: damaged")


def _unzstd(blocks: Iterable[bytes], passed: int, begun: Begun | None) -> Iterator[bytes]:
    maker = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
    frame = maker.decompressobj()
    inside, first, given = False, True, False
    for piece in _pieces(blocks, _ZSTD_PIECE_BYTES):
        data = piece
        while data:
            if not inside and begun is not None:
                begun(passed + len(piece) - len(data))
            try:
                out = frame.decompress(data)
            except zstandard.ZstdError as error:
                what = str(error).rpartition(": ")[2]
                detail = f"zstd near byte {passed}: {what}"
                raise StreamFault("corrupt_stream", detail, not (first or given)) from None
            inside, given = True, given or bool(out)
            yield out
            data = b""
            if frame.eof:
                data, frame = frame.unused_data, maker.decompressobj()
                inside, first, given = False, False, False
        passed += len(piece)
    if inside:
        detail = f"zstd ends early at byte {passed}"
        raise StreamFault("truncated_stream", detail, not (first or given))
