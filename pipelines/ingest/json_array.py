"""JSON files: an array of objects, objects a line each, or one object.

An array is read element by element in bounded memory. Places count the bytes of an element
with the separator in front of it; white space behind the closing bracket belongs to none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numba
import numpy as np
import orjson
from numpy.typing import NDArray

from pipelines.ingest.chunk import HEAD_BYTES, Chunk, ChunkBuilder, Place
from pipelines.ingest.fields import FieldMap
from pipelines.ingest.jsonl import parse_line, read_jsonl
from pipelines.ingest.lines import MAX_LINE_BYTES
from pipelines.ingest.refused import Refused
from pipelines.ingest.streams import StreamFault
from pipelines.ingest.whole import whole_file
from pipelines.spec.source import SourceSpec

_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n"
# Places in the state of a scan: depth of brackets, inside a string, behind a backslash.
_DEPTH, _IN_STRING, _ESCAPED = 0, 1, 2


def read_json(
    stream: Iterable[bytes], source: SourceSpec, builder: ChunkBuilder, file: int
) -> Iterator[Chunk]:
    """Reads one stream; what it holds is told by its first byte that is not blank."""
    blocks = iter(stream)
    first = next(blocks, b"")
    rest = chain([first], blocks)
    start = first.removeprefix(_BOM).lstrip(_BLANK)
    if start.startswith(b"["):
        yield from _read_array(rest, source, builder, file)
    elif start and not _is_json(start.partition(b"\n")[0]):
        yield from _read_one(rest, source, builder, file)
    else:
        yield from read_jsonl(rest, source, builder, file)


def _is_json(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return True


def _read_one(
    stream: Iterable[bytes], source: SourceSpec, builder: ChunkBuilder, file: int
) -> Iterator[Chunk]:
    """One object over many lines; if it is none, lines are what is left to try."""
    whole = whole_file(stream, builder, file)
    if whole is None:
        return
    if not _is_json(whole.data.removeprefix(_BOM)):
        yield from read_jsonl([whole.data], source, builder, file)
        return
    _add(builder, FieldMap(source), whole.data.removeprefix(_BOM), whole.place)
    if builder.full:
        yield builder.take()


def _add(builder: ChunkBuilder, fields: FieldMap, element: bytes, place: Place) -> None:
    try:
        mapped = parse_line(element, fields)
    except Refused as refused:
        builder.refuse(refused.reason, refused.detail, element, place)
    else:
        builder.record(mapped.text, mapped.record_id, place, mapped.told)


def _read_array(
    stream: Iterable[bytes], source: SourceSpec, builder: ChunkBuilder, file: int
) -> Iterator[Chunk]:
    array = _Array(builder, FieldMap(source), file)
    try:
        for block in stream:
            array.add(block)
            if builder.full:
                yield builder.take()
    except StreamFault as fault:
        array.refuse_rest(fault.reason, fault.detail)
        return
    array.end()


class _Array:
    """An array on its way; `_held` are the bytes since the last separator."""

    def __init__(self, builder: ChunkBuilder, fields: FieldMap, file: int) -> None:
        self._builder, self._fields, self._file = builder, fields, file
        self._state = np.zeros(3, np.int64)
        self._held = bytearray()
        self._size = 0
        self._offset = 0
        self._elements = 0

    def add(self, block: bytes) -> None:
        data = np.frombuffer(block, np.uint8)
        at = 0
        while at < len(block):
            found = _next_separator(data, at, self._state)
            end = abs(found)
            self._hold(block[at:end])
            at = end
            if found > 0 and self._state[_DEPTH] == 0:
                self._take(last=True)
                self._after(block[end:])
                return
            if found > 0:
                self._take(last=False)

    def _after(self, rest: bytes) -> None:
        if rest.strip(_BLANK):
            self._hold(rest)

    def _hold(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= MAX_LINE_BYTES:
            self._held += part

    def _take(self, *, last: bool) -> None:
        place = Place(self._file, self._offset, self._size)
        element = bytes(self._held).strip(_BLANK)
        element = element.removeprefix(_BOM).lstrip(_BLANK) if not self._elements else element
        if not self._elements and element.startswith(b"["):
            element = element[1:]
        element = element.removesuffix(b"]" if last else b",").strip(_BLANK)
        if self._size > MAX_LINE_BYTES:
            head = bytes(self._held[:HEAD_BYTES])
            self._builder.refuse("line_too_long", f"{self._size} bytes", head, place)
        elif element or not last:
            _add(self._builder, self._fields, element, place)
        elif not self._elements:
            self._builder.refuse("empty_file", "an array without elements", b"", place)
        self._elements += 1
        self._offset, self._size = self._offset + self._size, 0
        self._held.clear()

    def refuse_rest(self, reason: str, detail: str) -> None:
        place = Place(self._file, self._offset, self._size)
        self._builder.refuse(reason, detail, bytes(self._held[:HEAD_BYTES]), place)

    def end(self) -> None:
        if self._size:
            what = "the array is not closed" if self._state[_DEPTH] else "bytes behind the array"
            self.refuse_rest("invalid_json", what)


@numba.njit(cache=True, nogil=True)
def _next_separator(data: NDArray[Any], at: int, state: NDArray[Any]) -> int:
    """Behind the next comma of the outer array or its closing bracket; minus the block's end."""
    while at < len(data):
        byte = data[at]
        at += 1
        if state[_ESCAPED]:
            state[_ESCAPED] = 0
        elif state[_IN_STRING]:
            if byte == 92:
                state[_ESCAPED] = 1
            elif byte == 34:
                state[_IN_STRING] = 0
        elif byte == 34:
            state[_IN_STRING] = 1
        elif byte in (91, 123):
            state[_DEPTH] += 1
        elif byte in (93, 125):
            state[_DEPTH] -= 1
            if state[_DEPTH] <= 0:
                state[_DEPTH] = 0
                return at
        elif byte == 44 and state[_DEPTH] == 1:
            return at
    return -at
