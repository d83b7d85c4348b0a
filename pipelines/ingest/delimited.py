"""CSV and TSV (RFC 4180): a header row, then a record a row; quoted fields may hold line ends.

Places count the bytes of a row with its line end. The header is no record: its bytes
belong to the first row.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from typing import Any

import numba
import numpy as np
from charset_normalizer import from_bytes
from numpy.typing import NDArray

from pipelines.ingest.chunk import HEAD_BYTES, Chunk, ChunkBuilder, Place
from pipelines.ingest.fields import FieldMap
from pipelines.ingest.lines import MAX_LINE_BYTES
from pipelines.ingest.refused import Refused
from pipelines.ingest.streams import StreamFault
from pipelines.spec.source import SourceSpec

_BOM = b"\xef\xbb\xbf"
_LOOKED_AT_BYTES = 64 << 10
csv.field_size_limit(MAX_LINE_BYTES)


def read_delimited(
    stream: Iterable[bytes], source: SourceSpec, builder: ChunkBuilder, file: int
) -> Iterator[Chunk]:
    """Reads one stream of rows."""
    rows = _Rows(source, builder, file)
    try:
        for block in stream:
            for row in rows.cut(block):
                rows.take(row)
                if builder.full:
                    yield builder.take()
    except StreamFault as fault:
        rows.lost(fault.reason, fault.detail)
        return
    rows.end()


class _Rows:
    """The rows of one file on their way."""

    def __init__(self, source: SourceSpec, builder: ChunkBuilder, file: int) -> None:
        self._source, self._builder, self._file = source, builder, file
        self._fields = FieldMap(source)
        self._header: list[str] | None = None
        self._guess: str | None = None
        self._held = bytearray()
        self._size = 0
        self._offset = 0
        self._header_bytes = 0
        self._quoted = np.zeros(1, np.int64)

    def cut(self, block: bytes) -> Iterator[bytes]:
        """Whole rows, each with its line end."""
        if self._source.encoding == "detect" and self._guess is None:
            self._guess = _guessed(block[:_LOOKED_AT_BYTES])
        data, at = np.frombuffer(block, np.uint8), 0
        while at < len(block):
            end = _row_end(data, at, self._quoted)
            self._hold(block[at : abs(end)])
            at = abs(end)
            if end > 0:
                yield bytes(self._held)

    def take(self, row: bytes) -> None:
        """Adds one row."""
        size, self._size = self._size, 0
        self._held.clear()
        if size > MAX_LINE_BYTES:
            place = Place(self._file, self._offset, size)
            self._builder.refuse("line_too_long", f"{size} bytes", row[:HEAD_BYTES], place)
        elif self._header is None:
            self._begin(row, size)
            return
        elif row.strip(b"\r\n") or len(self._header) == 1:
            self._add(row, size)
        else:
            # A blank line between rows: part of the next one.
            self._header_bytes += size
            return
        self._offset += size + self._header_bytes
        self._header_bytes = 0

    def lost(self, reason: str, detail: str) -> None:
        """Refuses what is left of a row."""
        place = Place(self._file, self._offset, self._size + self._header_bytes)
        self._builder.refuse(reason, detail, bytes(self._held[:HEAD_BYTES]), place)

    def end(self) -> None:
        """Takes the last row, which may lack its line end."""
        if self._size and self._quoted[0]:
            self.lost("unclosed_quote", f"from byte {self._offset}")
        elif self._size:
            self.take(bytes(self._held))
        if self._header is None:
            self._builder.refuse("empty_file", "no rows", b"", Place(self._file, 0, 0))

    def _hold(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= MAX_LINE_BYTES:
            self._held += part

    def _begin(self, row: bytes, size: int) -> None:
        try:
            self._header = self._split(row.removeprefix(_BOM))
        except Refused:
            self._header = []
        self._header_bytes = size

    def _add(self, row: bytes, size: int) -> None:
        place = Place(self._file, self._offset, size + self._header_bytes)
        header = self._header or []
        try:
            values = self._split(row)
            if len(values) != len(header):
                detail = f"{len(values)} fields under {len(header)} names"
                raise Refused("wrong_number_of_fields", detail)
            mapped = self._fields.document(dict(zip(header, values, strict=True)))
        except Refused as refused:
            self._builder.refuse(refused.reason, refused.detail, row, place)
        else:
            self._builder.record(mapped.text, mapped.record_id, place, mapped.told)

    def _split(self, row: bytes) -> list[str]:
        text = self._decoded(row)
        reader = csv.reader([text], delimiter=self._source.delimiter, strict=True)
        try:
            return next(reader, [])
        except csv.Error as error:
            raise Refused("invalid_row", str(error)) from None

    def _decoded(self, row: bytes) -> str:
        try:
            return row.decode("utf-8")
        except UnicodeDecodeError as wrong:
            name = self._guess if self._source.encoding == "detect" else self._source.encoding
            if name is None or name == "utf-8":
                raise Refused("invalid_utf8", f"byte {wrong.start}: {wrong.reason}") from None
            try:
                return row.decode(name)
            except (UnicodeError, LookupError):
                raise Refused("unknown_encoding", f"not {name}") from None


def _guessed(data: bytes) -> str:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        best = from_bytes(data).best()
        return "utf-8" if best is None else best.encoding
    return "utf-8"


@numba.njit(cache=True, nogil=True)
def _row_end(data: NDArray[Any], at: int, quoted: NDArray[Any]) -> int:
    """Behind the line end of the row; minus the block's end where it goes on."""
    inside = quoted[0]
    while at < len(data):
        byte = data[at]
        at += 1
        if byte == 34:
            inside = 1 - inside
        elif byte == 10 and not inside:
            quoted[0] = 0
            return at
    quoted[0] = inside
    return -at
