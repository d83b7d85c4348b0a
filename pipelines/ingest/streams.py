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
from pathlib import Path

import zstandard

from lineage.digest import Digest
from pipelines.ingest.partition import FileRange

BLOCK_BYTES = 1 << 20
# One byte of gzip gives 1,032 at most.
_MAX_OUT_BYTES = 1 << 20
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


class HashedRange:
    """The bytes of a range of a file in blocks of at most 1 MiB, digested as they pass.

    Args:
        part: the range; a file that became shorter gives fewer bytes.
    """

    def __init__(self, root: Path, part: FileRange) -> None:
        self._path, self._part = root / part.path, part
        self._hasher, self._passed = hashlib.sha256(), 0

    def __iter__(self) -> Iterator[bytes]:
        with self._path.open("rb", buffering=0) as file:
            file.seek(self._part.start + self._passed)
            while block := file.read(min(BLOCK_BYTES, self._part.length - self._passed)):
                self._hasher.update(block)
                self._passed += len(block)
                yield block

    def digest_to_end(self) -> Digest:
        """The digest of the whole range; reads what nobody asked for yet."""
        for _ in self:
            pass
        return Digest(self._hasher.digest())


def decompressed(blocks: Iterable[bytes], compression: str) -> Iterator[bytes]:
    """The bytes of a stream: ``gz``, ``zst``, ``bz2``, ``xz``, or as they are.

    Raises:
        StreamFault: after everything before the fault was given.
    """
    if compression == "gz":
        return _gunzipped(blocks)
    if compression == "zst":
        return _unzstd(blocks)
    if compression == "bz2":
        return _by_members(blocks, "bzip2", bz2.BZ2Decompressor, OSError)
    if compression == "xz":
        return _by_members(blocks, "xz", _xz_member, lzma.LZMAError)
    return iter(blocks)


def _xz_member() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(memlimit=_XZ_MEMORY_BYTES)


def _by_members(
    blocks: Iterable[bytes],
    name: str,
    start: Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor],
    wrong: type[Exception],
) -> Iterator[bytes]:
    """Streams of one or more members, each ended by itself."""
    member, passed, inside, first = start(), 0, False, True
    for block in blocks:
        data = block
        while data or (inside and not member.needs_input and not member.eof):
            if not inside:
                # Zero bytes behind a member are padding.
                data = data if first else data.lstrip(b"\0")
                if not data:
                    break
            try:
                out = member.decompress(data, _MAX_OUT_BYTES)
            except (wrong, EOFError) as error:
                clean = not first and not inside
                detail = f"{name} near byte {passed}: {error}"
                raise StreamFault("corrupt_stream", detail, clean) from None
            inside = True
            yield out
            data = b""
            if member.eof:
                data, member = member.unused_data, start()
                inside, first = False, False
        passed += len(block)
    if inside:
        raise StreamFault("truncated_stream", f"{name} ends early at byte {passed}")


def _gunzipped(blocks: Iterable[bytes]) -> Iterator[bytes]:
    member = zlib.decompressobj(zlib.MAX_WBITS | 16)
    passed, inside, first = 0, False, True
    for block in blocks:
        data = block
        while data:
            if not inside:
                # Zero bytes behind a member are padding (tapes, block devices).
                data = data if first else data.lstrip(b"\0")
                if not data:
                    break
                if not first and data[:1] != b"\x1f":
                    at = passed + len(block) - len(data)
                    raise StreamFault("corrupt_stream", f"no gzip member at byte {at}", clean=True)
                member, inside = zlib.decompressobj(zlib.MAX_WBITS | 16), True
            yield from _inflated(member, data, passed + len(block) - len(data))
            data = member.unused_data
            if member.eof:
                inside, first = False, False
        passed += len(block)
    if inside:
        raise StreamFault("truncated_stream", f"gzip ends early at byte {passed}")


def _inflated(member: zlib._Decompress, data: bytes, at: int) -> Iterator[bytes]:
    while True:
        before = member.copy()
        try:
            out = member.decompress(data, _MAX_OUT_BYTES)
        except zlib.error:
            yield from _inflated_by_bytes(before, data, at)
            return
        yield out
        # At the end of a member `unconsumed_tail` keeps a stale copy of what lies behind.
        if member.eof:
            return
        at += len(data) - len(member.unconsumed_tail)
        data = member.unconsumed_tail
        if not data and len(out) < _MAX_OUT_BYTES:
            return


def _inflated_by_bytes(member: zlib._Decompress, data: bytes, at: int) -> Iterator[bytes]:
    """Goes again over a piece that failed: zlib throws away what a failing call gave."""
    for i in range(len(data)):
        try:
            yield member.decompress(data[i : i + 1])
        except zlib.error as error:
            what = str(error).partition(": ")[2] or "damaged"
            raise StreamFault("corrupt_stream", f"gzip at byte {at + i}: {what}") from None
    raise StreamFault("corrupt_stream", f"gzip near byte {at + len(data)}: damaged")


def _unzstd(blocks: Iterable[bytes]) -> Iterator[bytes]:
    maker = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
    frame = maker.decompressobj()
    passed, inside, first, given = 0, False, True, False
    for block in blocks:
        for start in range(0, len(block), _ZSTD_PIECE_BYTES):
            data = block[start : start + _ZSTD_PIECE_BYTES]
            while data:
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
            passed += min(_ZSTD_PIECE_BYTES, len(block) - start)
    if inside:
        detail = f"zstd ends early at byte {passed}"
        raise StreamFault("truncated_stream", detail, not (first or given))
