"""A flat array of token ids, as nanoGPT and OLMo write them: one file, cut at the end token.

With or without the header of numpy's .npy (NEP 1), which is parsed here within bounds;
an array of objects, which would be a pickle, is refused as any other that holds no ids.
"""

from __future__ import annotations

import io
import math
import tokenize
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.lib import format as npy

from pipelines.ingest.chunk import HEAD_BYTES, Chunk, ChunkBuilder, Place
from pipelines.ingest.ids.token_ids import MAX_DOCUMENT_BYTES, add_document, refuse_wider
from pipelines.ingest.places.window import Window
from pipelines.spec.source import SourceSpec

_MAGIC = b"\x93NUMPY"
_MAX_HEADER_BYTES = 1 << 14
_BLOCK_BYTES = 1 << 20


class _NoArray(Exception):
    """Why a file is no array of ids; never reaches a user."""


def read_token_array(
    stream: Iterable[bytes], source: SourceSpec, builder: ChunkBuilder, file: int
) -> Iterator[Chunk]:
    """Reads one file; the ids behind the last end token are a document too.

    Raises:
        ConfigError: the ids are wider than they are said to be.
    """
    window = Window(stream)
    try:
        left = _header(window, source.encoding)
    except _NoArray as error:
        builder.refuse("corrupt_file", str(error), window.head(), Place(file, 0, 0))
        return
    if not window.fill(1) and window.fault is None and not left:
        builder.refuse("empty_file", "no tokens", b"", Place(file, 0, 0))
        return
    yield from _Cutter(window, source, builder, file).read(left)


def _header(window: Window, dtype: str) -> int | None:
    """Passes a header, where there is one; gives the bytes of ids behind it, None for all."""
    window.fill(_MAX_HEADER_BYTES)
    start = bytes(window.data[window.at : window.at + _MAX_HEADER_BYTES])
    if not start.startswith(_MAGIC):
        return None
    file = io.BytesIO(start)
    try:
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
        shape, by_columns, kind = read[npy.read_magic(file)](file, max_header_size=1 << 13)
    except (KeyError, ValueError, SyntaxError, TypeError, tokenize.TokenError):
        raise _NoArray("a header of numpy that cannot be read") from None
    if kind != np.dtype(dtype).newbyteorder("<") or (by_columns and len(shape) > 1):
        raise _NoArray(f"an array of {kind}, and not one of {dtype} by rows")
    window.drop(file.tell())
    return math.prod(shape) * kind.itemsize


class _Cutter:
    """Cuts a stream of ids behind each end token, in bounded memory."""

    def __init__(
        self, window: Window, source: SourceSpec, builder: ChunkBuilder, file: int
    ) -> None:
        self._window, self._builder, self._file = window, builder, file
        self._dtype, self._name = source.encoding, source.name
        self._kind = np.dtype(self._dtype).newbyteorder("<")
        self._end = int(source.delimiter)
        self._parts: list[bytes] = []
        self._start, self._size = window.offset, 0

    def read(self, left: int | None) -> Iterator[Chunk]:
        width = self._kind.itemsize
        while True:
            most = _BLOCK_BYTES if left is None else min(_BLOCK_BYTES, left)
            block = self._window.take(min(self._window.fill(most), most) // width * width)
            if not block:
                break
            left = None if left is None else left - len(block)
            refuse_wider(block, self._dtype, self._name)
            yield from self._cut(block)
        self._close()
        self._behind(left)

    def _cut(self, block: bytes) -> Iterator[Chunk]:
        width, at = self._kind.itemsize, 0
        ends = np.flatnonzero(np.frombuffer(block, self._kind) == self._end) + 1
        for end in (ends * width).tolist():
            self._add(block[at:end])
            self._close()
            at = end
            if self._builder.full:
                yield self._builder.take()
        self._add(block[at:])

    def _add(self, part: bytes) -> None:
        if self._size <= MAX_DOCUMENT_BYTES:
            self._parts.append(part)
        self._size += len(part)

    def _close(self) -> None:
        if self._size:
            place = Place(self._file, self._start, self._size)
            data = b"".join(self._parts)
            if self._size > MAX_DOCUMENT_BYTES:
                detail = f"{self._size} bytes without the token {self._end}"
                self._builder.refuse("text_too_long", detail, data[:HEAD_BYTES], place)
            else:
                add_document(self._builder, data, self._dtype, place)
        self._start += self._size
        self._parts, self._size = [], 0

    def _behind(self, left: int | None) -> None:
        """What is no whole id, or is missing."""
        window = self._window
        odd = window.fill(_BLOCK_BYTES)
        place = Place(self._file, window.offset, odd)
        if window.fault is not None:
            self._builder.refuse(window.fault.reason, window.fault.detail, window.head(), place)
        elif left:
            detail = f"{left} bytes of ids are missing"
            self._builder.refuse("truncated_stream", detail, window.head(), place)
        elif odd:
            detail = "bytes behind the last id"
            self._builder.refuse("corrupt_file", detail, window.head(), place)
