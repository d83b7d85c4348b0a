"""CSV and TSV (RFC 4180): a header row, then a record a row; quoted fields may hold line ends.

Rows end with a line feed, or a carriage return and one. A quote opens a quoted field at the
start of the field alone; a row whose quotes do not pair up ends where the next quote lets it, or
is the file's last. Of two columns of one name the first counts.

Places count the bytes of a row with its line end. The header belongs to the first row, a blank
line to the row above it. So the places of all rows add up to the stream.

Memory: some copies of one row, of which what is beyond 64 MiB is passed over, and one block.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator

from pipelines.ingest.books import Books
from pipelines.ingest.chunk import HEAD_BYTES, Chunk, ChunkBuilder
from pipelines.ingest.fields import FieldMap, Mapped, fields_of
from pipelines.ingest.places.streams import StreamFault
from pipelines.ingest.places.window import Window
from pipelines.ingest.records.delimited_coding import LONGEST_MARK, Coding
from pipelines.ingest.records.delimited_ends import RowEnds
from pipelines.ingest.records.lines import MAX_LINE_BYTES
from pipelines.ingest.refused import Refused
from pipelines.spec.source import SourceSpec

# How much is looked at from the first row on that is not ASCII.
_LOOKED_AT_BYTES = 64 << 10
csv.field_size_limit(MAX_LINE_BYTES)


def read_delimited(
    stream: Iterable[bytes], source: SourceSpec, builder: ChunkBuilder, file: int
) -> Iterator[Chunk]:
    """Reads one unpacked stream; a full chunk is given out at once.

    Args:
        stream: blocks of bytes; may end in a `StreamFault`.
        file: ordinal for the places of records.

    Raises:
        OSError: the file cannot be read.
    """
    window = Window(stream)
    window.fill(LONGEST_MARK)
    start = bytes(window.data[:LONGEST_MARK])
    rows = _Rows(source, builder, file, Coding.of(start, source.encoding))
    try:
        for block in window.rest():
            for _ in rows.add(block):
                if builder.full:
                    yield builder.take()
    except StreamFault as fault:
        rows.lost(fault)
    else:
        rows.end()


class _Rows:
    """The rows of one file on their way; `_held` is the start of one that has not ended."""

    def __init__(
        self, source: SourceSpec, builder: ChunkBuilder, file: int, coding: Coding
    ) -> None:
        self._coding = coding
        self._table = _Table(source, Books(builder, file), wide=coding.width > 1)
        self._ends = RowEnds(source.delimiter, coding.unit)
        self._part = b""
        self._held, self._size = bytearray(), 0
        # Rows that wait for more of them, since they tell the encoding together.
        self._untold: list[tuple[bytes, int]] = []
        self._num_untold_bytes = 0

    def add(self, block: bytes) -> Iterator[None]:
        """Adds what follows; gives nothing, row by row."""
        block, at = self._whole_units(block), 0
        if not self._table.num_bytes and not self._size:
            # A quote behind the mark is at the start of a field.
            at = len(self._coding.mark)
            self._hold(block[:at])
        for end in self._ends.of(block[at:], at):
            self._hold(block[at:end])
            at = end
            self._end_row()
            yield
        self._hold(block[at:])

    def lost(self, fault: StreamFault) -> None:
        """Ends with a fault of the stream."""
        self._hold(self._part)
        self._part = b""
        if fault.clean:
            self._finish()
        self._tell()
        passed = self._table.num_bytes + self._size
        detail = f"{fault.detail}, after {passed} unpacked bytes"
        self._table.refuse(Refused(fault.reason, detail), bytes(self._held), self._size)

    def end(self) -> None:
        """Ends with the stream."""
        self._finish()
        self._table.end()

    def _whole_units(self, block: bytes) -> bytes:
        if self._coding.width == 1:
            return block
        block = self._part + block
        whole = len(block) - len(block) % self._coding.width
        self._part = block[whole:]
        return block[:whole]

    def _finish(self) -> None:
        """Takes the last row, which may lack its line end."""
        self._hold(self._part)
        self._part = b""
        if self._size and self._ends.quoted:
            self._tell()
            refused = Refused("unclosed_quote", "quotes that are open at the end of the file")
            self._table.refuse(refused, bytes(self._held), self._size)
            self._held, self._size = bytearray(), 0
        elif self._size:
            self._end_row()
        self._tell()

    def _hold(self, part: bytes) -> None:
        self._size += len(part)
        too_long = self._size > MAX_LINE_BYTES
        self._held += part[:HEAD_BYTES] if too_long else part
        if too_long:
            del self._held[HEAD_BYTES:]

    def _end_row(self) -> None:
        row, size = bytes(self._held), self._size
        self._held, self._size = bytearray(), 0
        name = self._coding.name
        if name is None and row.isascii() and not self._untold:
            name = "utf-8"
        if name is not None:
            self._table.add(row, size, name)
            return
        self._untold.append((row, size))
        self._num_untold_bytes += len(row)
        if self._num_untold_bytes >= _LOOKED_AT_BYTES:
            self._tell()

    def _tell(self) -> None:
        """Takes the rows that waited, in the encoding that they tell."""
        if not self._untold:
            return
        rows, self._untold = self._untold, []
        self._coding.name = name = _told(b"".join(row for row, _ in rows))
        for row, size in rows:
            self._table.add(row, size, name)


def _told(rows: bytes) -> str:
    # Detectors are heavy, and most files need none.
    from pipelines.ingest.pages.encoding import decoded

    try:
        return decoded(rows, "detect").encoding or "utf-8"
    except Refused:
        # Each row that is not UTF-8 is refused for that.
        return "utf-8"


class _Table:
    """The rows under one header.

    Args:
        wide: a unit has more bytes than one.
    """

    def __init__(self, source: SourceSpec, books: Books, *, wide: bool) -> None:
        self._fields, self._books, self._wide = FieldMap(source), books, wide
        self._delimiter = source.delimiter
        self._wanted = frozenset(fields_of(source))
        self._width = 0
        self._columns: list[tuple[int, str]] | None = None
        self._wrong_header: Refused | None = None
        self._header, self._header_bytes = b"", 0

    @property
    def num_bytes(self) -> int:
        """Bytes of all rows so far."""
        return self._books.num_bytes + self._header_bytes

    def add(self, row: bytes, num_bytes: int, encoding: str) -> None:
        """Adds one row with its line end."""
        if not row.strip(b"\r\n\0" if self._wide else b"\r\n"):
            self._pass_over(num_bytes)
        elif self._columns is None:
            self._begin(row, num_bytes, encoding)
        else:
            self._put(row, num_bytes, encoding)

    def refuse(self, refused: Refused, head: bytes, num_bytes: int) -> None:
        """Adds bytes that are no row."""
        self._books.add(refused, head, num_bytes + self._header_bytes)
        self._header_bytes = 0
        self._books.flush()

    def end(self) -> None:
        """Ends with the file."""
        self._books.flush()
        if self._header_bytes or not self.num_bytes:
            # No row took the header's bytes.
            nothing = Refused("empty_file", "a header without rows" if self._header else "no rows")
            self.refuse(self._wrong_header or nothing, self._header, 0)

    def _pass_over(self, num_bytes: int) -> None:
        if self._books.empty:
            self._header_bytes += num_bytes
        else:
            self._books.more(num_bytes)

    def _begin(self, row: bytes, num_bytes: int, encoding: str) -> None:
        self._header, self._columns = row, []
        self._header_bytes += num_bytes
        try:
            text = _text(row, num_bytes, encoding).removeprefix("\ufeff")
            names = self._split(text)
        except Refused as refused:
            self._wrong_header = Refused(refused.reason, f"the header: {refused.detail}")
            return
        self._width = len(names)
        firsts = {name: i for i, name in reversed(list(enumerate(names)))}
        self._columns = [(i, name) for name, i in firsts.items() if name in self._wanted]

    def _put(self, row: bytes, num_bytes: int, encoding: str) -> None:
        found, raw = self._found(row, num_bytes, encoding), None
        told = encoding != "utf-8" and (self._wide or not row.isascii())
        if told and isinstance(found, Mapped):
            found = found._replace(told=found.told._replace(encoding=encoding))
            raw = _encoded(found.text, encoding)
        self._books.add(found, row, num_bytes + self._header_bytes, raw)
        self._header_bytes = 0

    def _found(self, row: bytes, num_bytes: int, encoding: str) -> Mapped | Refused:
        try:
            return self._mapped(row, num_bytes, encoding)
        except Refused as refused:
            return refused

    def _mapped(self, row: bytes, num_bytes: int, encoding: str) -> Mapped:
        if self._wrong_header is not None:
            raise self._wrong_header
        values = self._split(_text(row, num_bytes, encoding))
        if len(values) != self._width:
            detail = f"{len(values)} fields under {self._width} names"
            raise Refused("wrong_number_of_fields", detail)
        return self._fields.document({name: values[i] for i, name in self._columns or ()})

    def _split(self, text: str) -> list[str]:
        bare = text.rstrip("\r\n")
        if '"' not in bare and "\r" not in bare:
            return bare.split(self._delimiter)
        reader = csv.reader([text], delimiter=self._delimiter, strict=True)
        try:
            return next(reader, [])
        except csv.Error as error:
            raise Refused("invalid_row", str(error).partition(" - ")[0]) from None


def _text(row: bytes, num_bytes: int, encoding: str) -> str:
    if num_bytes > MAX_LINE_BYTES:
        raise Refused("line_too_long", f"{num_bytes} bytes")
    try:
        return row.decode(encoding)
    except UnicodeDecodeError as wrong:
        reason = "invalid_utf8" if encoding == "utf-8" else "unknown_encoding"
        raise Refused(reason, f"byte {wrong.start} of {encoding}: {wrong.reason}") from None
    except UnicodeError as wrong:
        raise Refused("unknown_encoding", f"{encoding}: {wrong}") from None


def _encoded(text: bytes, encoding: str) -> bytes | None:
    """A text as it lay in the file; None where the encoding does not lead back."""
    try:
        return text.decode("utf-8").encode(encoding)
    except UnicodeError:
        return None
