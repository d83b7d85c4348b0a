"""Records of WARC and ARC files, cut out of a stream by their lengths.

A length is believed when what lies behind it is the end or another record. Where it is
wrong, or a header is damaged, reading goes on at the next line that begins a record: such a
line is taken for one only where its record before is broken anyway, since pages may quote
one. Together the pieces are all bytes of the stream.
Sources: ISO 28500 (WARC 1.1) sections 4 and 5.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from pipelines.ingest.pages.whole import MAX_FILE_BYTES
from pipelines.ingest.places.window import Window
from pipelines.ingest.web.arc import ARC_LINE, arc_header

_MAX_HEADER_BYTES = 1 << 20
# Copies through text mode double the carriage returns.
_WARC_LINE = rb"WARC/[01]\.\d{1,3}[ \t\r]{0,9}\n"
_RECORD = rb"(?:%s(?=[A-Za-z-]{2,40}:)|%s)" % (_WARC_LINE, ARC_LINE)
_START = re.compile(rb"(?<=\n)" + _RECORD)
# A record, or what is left of the header line of one.
_BEGIN = re.compile(_RECORD + rb"|WARC/|[A-Za-z][\w+.-]{1,20}://\S")
_WARC_START = re.compile(_WARC_LINE)
_HEADER_END = re.compile(rb"\n\r{0,2}\n")
_BLANK, _TWO_BLANK = re.compile(rb"[\r\n]*"), re.compile(rb"(?:\r{0,2}\n){2}")
# A line that begins a record is shorter.
_LINE_BYTES = 16 << 10
_TEXT_TYPE = re.compile(rb"text/(?:html|plain)|application/xhtml", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Capture:
    """One record.

    Attributes:
        headers: names in lower case; those of ARC under the names of WARC.
        block: what its header describes; its first 64 KiB where it is over 64 MiB.
        whole: whether it is all of it.
        offset: of its header, in bytes of the stream.
        num_bytes: with its header, and the blank lines that end it.
    """

    headers: Mapping[str, str]
    block: bytes
    whole: bool
    offset: int
    num_bytes: int


@dataclass(frozen=True, slots=True)
class LostCapture:
    """Bytes that are no record, or a broken one; `head` is their first 64 KiB."""

    reason: str
    detail: str
    head: bytes
    offset: int
    num_bytes: int


def captures(stream: Iterable[bytes]) -> Iterator[Capture | LostCapture]:
    """Cuts a stream into its records, in bounded memory; a fault of the stream comes last."""
    window = Window(stream)
    while window.fill(1):
        found = _next(window)
        fault = window.fault
        if isinstance(found, LostCapture) and fault is not None and not window.fill(1):
            # The last record is broken because the stream is: one row says it.
            yield replace(found, reason=fault.reason, detail=fault.detail)
            return
        yield found
    if window.fault is not None:
        yield LostCapture(window.fault.reason, window.fault.detail, b"", window.offset, 0)
    elif not window.offset:
        yield LostCapture("empty_file", "no bytes", b"", 0, 0)


def _next(window: Window) -> Capture | LostCapture:
    header = _header(window)
    if header is None:
        return _lost(window, "no header of a record")
    size, headers = header
    length = headers.get("content-length", "")
    if not length.isdecimal() or not length.isascii() or len(length) > 15:
        return _lost(window, "no Content-Length")
    end = size + int(length)
    if int(length) > MAX_FILE_BYTES:
        return _long(window, headers, size, end)
    held = window.fill(end)
    if held < end:
        return _lost(window, f"ends {end - held} bytes early")
    behind = _behind(window, end)
    if behind is None:
        return _lost(window, "Content-Length is wrong")
    offset = window.offset
    block = window.take(end)[size:]
    window.drop(behind)
    return Capture(headers, block, True, offset, end + behind)


def _header(window: Window) -> tuple[int, Mapping[str, str]] | None:
    """The size of a header and what it says."""
    looked_at = 0
    while True:
        held = window.fill(looked_at + 1)
        if _WARC_START.match(window.data, window.at):
            match = _HEADER_END.search(window.data, window.at + max(looked_at - 3, 0))
            if match is not None:
                size = match.end() - window.at
                return size, _fields(bytes(window.data[window.at : match.end()]))
        elif (end := window.data.find(b"\n", window.at) + 1) > 0:
            fields = arc_header(bytes(window.data[window.at : end]))
            return None if fields is None else (end - window.at, fields)
        if held <= looked_at or held > _MAX_HEADER_BYTES:
            return None
        looked_at = held


def _fields(header: bytes) -> Mapping[str, str]:
    """Named fields; a line that starts with white space goes on the one before."""
    found: dict[str, str] = {}
    name = ""
    for line in header.decode("utf-8", "replace").split("\n")[1:]:
        text = line.rstrip("\r")
        if text[:1] in (" ", "\t") and name:
            found[name] += " " + text.strip()
        elif ":" in text:
            name, _, value = text.partition(":")
            name = name.strip().lower()
            found.setdefault(name, value.strip())
    return found


def _behind(window: Window, end: int) -> int | None:
    """How many bytes of blank lines end a record; None where something else lies there."""
    size = 0
    while True:
        held = window.fill(end + size + 1)
        match = _BLANK.match(window.data, window.at + end + size)
        size += 0 if match is None else match.end() - match.start()
        if end + size < held:
            break
        if window.fill(held + 1) == held:
            return size
    # Some writers leave blank lines out; behind two of them anything may lie.
    window.fill(end + size + _LINE_BYTES)
    place = window.at + end
    if _BEGIN.match(window.data, place + size) or _TWO_BLANK.match(window.data, place):
        return size
    return None


def _long(window: Window, headers: Mapping[str, str], size: int, end: int) -> Capture | LostCapture:
    """A record that is not held. A page of that size is a wrong length, if another follows."""
    offset, head = window.offset, window.head()
    window.fill(MAX_FILE_BYTES)
    if _TEXT_TYPE.search(head) and _START.search(window.data, window.at + size):
        return _lost(window, "Content-Length is wrong")
    passed = window.drop(end)
    if passed < end:
        return _broken(f"ends {end - passed} bytes early", head, offset, passed)
    behind = _behind(window, 0) or 0
    window.drop(behind)
    return Capture(headers, head[size:], False, offset, end + behind)


def _lost(window: Window, detail: str) -> LostCapture:
    """Passes everything up to the next record."""
    offset, head = window.offset, window.head()
    passed = window.drop_to(_START)
    return _broken(detail, head[:passed], offset, passed)


def _broken(detail: str, head: bytes, offset: int, passed: int) -> LostCapture:
    return LostCapture("malformed_record", detail, head, offset, passed)
