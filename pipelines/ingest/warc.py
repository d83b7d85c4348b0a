"""WARC, WET and ARC: a page, or the text of one, a record.

Documents are responses with status 200 and resources whose type is HTML or plain text, and
the conversions of a WET file; ids are made from the payload. Every other record is a
quarantine row ``no_page``, so that all bytes of the file are accounted for. A record that
cannot be read is a row too, and reading goes on at the next line that begins one.
Sources: ISO 28500 (WARC 1.1), the ARC 1.0 description of the Internet Archive.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pipelines.ingest.chunk import HEAD_BYTES, Chunk, ChunkBuilder, Place, Told
from pipelines.ingest.encoding import decoded
from pipelines.ingest.http import HttpPage, http_page
from pipelines.ingest.pages import licence_of_page, text_of_page
from pipelines.ingest.refused import Refused
from pipelines.ingest.streams import StreamFault
from pipelines.ingest.whole import MAX_FILE_BYTES
from pipelines.spec.source import SourceSpec

_MAX_HEADER_BYTES = 1 << 20
_PAGES = ("text/html", "application/xhtml+xml")


@dataclass(frozen=True, slots=True)
class _Record:
    """One record: what its header says, and its block unless it was too long."""

    kind: str
    headers: Mapping[str, str]
    block: bytes | None
    place: Place


def read_warc(
    stream: Iterable[bytes], source: SourceSpec, builder: ChunkBuilder, file: int
) -> Iterator[Chunk]:
    """Reads one unpacked stream of records."""
    records = _Records(_Bytes(stream), builder, file)
    for record in records:
        try:
            _add(record, source, builder)
        except Refused as refused:
            head = b"" if refused.reason == "no_page" else record.block or b""
            builder.refuse(refused.reason, refused.detail, head, record.place)
        if builder.full:
            yield builder.take()


def _add(record: _Record, source: SourceSpec, builder: ChunkBuilder) -> None:
    page = _page(record)
    url = record.headers.get("warc-target-uri")
    if page.type in _PAGES:
        found = text_of_page(page.body, source, page.charsets)
        told = Told(url, licence_of_page(page.body), found.encoding)
    else:
        found = decoded(page.body, source.encoding, page.charsets)
        told = Told(url, None, found.encoding)
    builder.record(found.text.encode("utf-8"), None, record.place, told, page.payload)


def _page(record: _Record) -> HttpPage:
    """The page of a record.

    Raises:
        Refused: it carries none.
    """
    if record.kind not in ("response", "resource", "conversion"):
        raise Refused("no_page", f"a record of type {record.kind or 'unknown'}")
    if record.block is None:
        raise Refused("text_too_long", f"{record.place.num_bytes} bytes")
    if record.kind == "response":
        page = http_page(record.block)
        if page.status != 200:
            raise Refused("no_page", f"status {page.status}")
    else:
        kind = record.headers.get("content-type", "")
        page = HttpPage(200, kind, record.block, record.block)
    if page.type not in (*_PAGES, "text/plain"):
        raise Refused("no_page", f"type {page.type[:60] or 'unknown'}")
    return page


class _Records:
    """The records of a stream, in order; what is none becomes a quarantine row."""

    def __init__(self, data: _Bytes, builder: ChunkBuilder, file: int) -> None:
        self._data, self._builder, self._file = data, builder, file

    def __iter__(self) -> Iterator[_Record]:
        anything = False
        try:
            while (record := self._next()) is not None:
                anything = True
                yield record
        except StreamFault as fault:
            start, head = self._data.mark, self._data.head
            place = Place(self._file, start, self._data.position - start)
            self._builder.refuse(fault.reason, fault.detail, head, place)
            return
        if not anything and not self._data.position:
            self._builder.refuse("empty_file", "no bytes", b"", Place(self._file, 0, 0))

    def _next(self) -> _Record | None:
        data = self._data
        data.begin()
        data.pass_blank_lines()
        line = data.line()
        if not line:
            return None
        if line.startswith(b"WARC/"):
            return self._warc()
        if (arc := _arc_header(line)) is not None:
            return self._arc(*arc)
        return self._skip()

    def _warc(self) -> _Record | None:
        headers = self._data.headers()
        length = headers.get("content-length", "")
        if not length.isdecimal() or len(length) > 15:
            return self._skip()
        block = self._data.block(int(length))
        self._data.pass_blank_lines()
        place = Place(self._file, self._data.mark, self._data.position - self._data.mark)
        if block is None and self._data.ended:
            self._builder.refuse("malformed_record", "ends early", self._data.head, place)
            return None
        return _Record(headers.get("warc-type", "").lower(), headers, block, place)

    def _arc(self, url: str, kind: str, length: int) -> _Record | None:
        block = self._data.block(length)
        self._data.pass_blank_lines()
        place = Place(self._file, self._data.mark, self._data.position - self._data.mark)
        if block is None and self._data.ended:
            self._builder.refuse("malformed_record", "ends early", self._data.head, place)
            return None
        name = "arcinfo" if url.startswith("filedesc:") else "response"
        return _Record(name, {"warc-target-uri": url, "content-type": kind}, block, place)

    def _skip(self) -> _Record | None:
        """Passes over what is no record, up to the next line that begins one."""
        data = self._data
        while (line := data.peek_line()) and not line.startswith(b"WARC/"):
            data.line()
        place = Place(self._file, data.mark, data.position - data.mark)
        self._builder.refuse("malformed_record", "no header of a record", data.head, place)
        return self._next()


def _arc_header(line: bytes) -> tuple[str, str, int] | None:
    """Address, type and length of an ARC record: URL IP date type length."""
    parts = line.rstrip(b"\r\n").split(b" ")
    if len(parts) != 5 or b":" not in parts[0] or not parts[4].isdigit() or len(parts[4]) > 15:
        return None
    return parts[0].decode("utf-8", "replace"), parts[3].decode("latin-1"), int(parts[4])


class _Bytes:
    """A stream of blocks read by lines and lengths, in bounded memory."""

    def __init__(self, stream: Iterable[bytes]) -> None:
        self._blocks = iter(stream)
        self._held = b""
        self._at = 0
        self.position = 0
        self.mark = 0
        self.head = b""
        self.ended = False

    def begin(self) -> None:
        """Marks the start of a record."""
        self.mark, self.head = self.position, b""

    def line(self) -> bytes:
        """The next line with its line feed, cut at 1 MiB; empty at the end."""
        return self._pass(len(self.peek_line()))

    def peek_line(self) -> bytes:
        """The same, without going on."""
        while True:
            end = self._held.find(b"\n", self._at)
            size = (end + 1 if end >= 0 else len(self._held)) - self._at
            if end >= 0 or size >= _MAX_HEADER_BYTES or not self._more():
                return self._held[self._at : self._at + min(size, _MAX_HEADER_BYTES)]

    def pass_blank_lines(self) -> None:
        """Goes on to the next line that is not blank: they end a record."""
        while self.peek_line() in (b"\r\n", b"\n"):
            self.line()

    def headers(self) -> dict[str, str]:
        """Header lines up to a blank one, names in lower case; a folded line goes on."""
        found: dict[str, str] = {}
        name, size = "", 0
        while (line := self.line()) not in (b"", b"\r\n", b"\n") and size < _MAX_HEADER_BYTES:
            size += len(line)
            text = line.decode("utf-8", "replace").rstrip("\r\n")
            if text[:1] in (" ", "\t") and name:
                found[name] += " " + text.strip()
                continue
            name, _, value = text.partition(":")
            name = name.strip().lower()
            found.setdefault(name, value.strip())
        return found

    def block(self, length: int) -> bytes | None:
        """So many bytes; None where they are too many to hold, or the stream ends before."""
        keep = length <= MAX_FILE_BYTES
        parts: list[bytes] = []
        left = length
        while left:
            if self._at == len(self._held) and not self._more():
                self.ended = True
                return None
            part = self._pass(min(left, len(self._held) - self._at))
            left -= len(part)
            if keep:
                parts.append(part)
        return b"".join(parts) if keep else None

    def _pass(self, size: int) -> bytes:
        part = self._held[self._at : self._at + size]
        self._at += size
        self.position += size
        if len(self.head) < HEAD_BYTES:
            self.head += part[: HEAD_BYTES - len(self.head)]
        return part

    def _more(self) -> bool:
        block = next(self._blocks, b"")
        self._held, self._at = self._held[self._at :] + block, 0
        return bool(block)
