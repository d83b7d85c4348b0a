"""JSON files: an array of objects, objects over many lines, or objects a line each.

What a file is, is told by its start: ``[`` opens an array; an object that is not closed on its
first line, and not cut off inside a string there, is one of perhaps many that follow each
other; anything else is read as lines. Arrays and objects are read element by element. Arrays
may follow each other too.

A broken element loses itself alone. Where its quotes or brackets do not pair up, the next
element is looked for (`json_resync`).

Places count the bytes of an element with the separator and white space in front of it. The
brackets of the array, a comma too many and the white space at the end belong to the element
beside them. So the places of all elements and refusals add up to the stream.

Memory: some eight times the longest element, of which what is beyond 64 MiB is passed over: so
half a GiB at most, however long the file is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pipelines.ingest.books import Books
from pipelines.ingest.chunk import Chunk, ChunkBuilder
from pipelines.ingest.fields import FieldMap, Mapped
from pipelines.ingest.places.window import Window
from pipelines.ingest.records.json_resync import next_element
from pipelines.ingest.records.json_scan import JsonScan, Stop
from pipelines.ingest.records.jsonl import parse_line, read_jsonl
from pipelines.ingest.records.lines import MAX_LINE_BYTES
from pipelines.ingest.refused import Refused
from pipelines.spec.source import SourceSpec

_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n"
_PEEK_BYTES = 1 << 20
_PEEK_STEP_BYTES = 4 << 10
# Reasons of an element that is no JSON.
_BROKEN = frozenset({"invalid_json", "invalid_utf8"})


def read_json(
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
    start = _bare_start(window)
    if start.startswith(b"["):
        yield from _Elements(window, source, builder, file, array=True).read()
    elif _goes_on(start):
        yield from _Elements(window, source, builder, file, array=False).read()
    else:
        yield from read_jsonl(window.rest(), source, builder, file)


def _bare_start(window: Window) -> bytes:
    """The start of a file, as far as it tells what the file is."""
    size = 0
    while True:
        size += _PEEK_STEP_BYTES
        held = window.fill(size)
        bare = _bare(bytes(memoryview(window.data)[window.at : window.at + size]))
        if bare.startswith(b"[") or b"\n" in bare or held < size or size >= _PEEK_BYTES:
            return bare


def _bare(start: bytes) -> bytes:
    return start.lstrip(_BLANK).removeprefix(_BOM).lstrip(_BLANK)


def _goes_on(bare: bytes) -> bool:
    """Whether an object is open at the end of its first line, outside of a string."""
    line, end, _ = bare.partition(b"\n")
    if not end or not line.startswith(b"{"):
        return False
    scan = JsonScan(array=False)
    found = scan.ends(line, 0, len(line))
    return found.stop is Stop.OPEN and not found.ends and not scan.inside_a_string


class _Elements:
    """The elements of one stream on their way; the window starts behind the last of them."""

    def __init__(
        self, window: Window, source: SourceSpec, builder: ChunkBuilder, file: int, *, array: bool
    ) -> None:
        self._window, self._array = window, array
        self._fields, self._builder = FieldMap(source), builder
        self._books = Books(builder, file)
        self._scan = JsonScan(array=array)
        # From the window's start: the element without what separates it, and what was scanned.
        self._start = self._scanned = 0
        # Of an element that is too long, and passed already.
        self._head, self._num_gone = b"", 0
        self._closed = False

    def read(self) -> Iterator[Chunk]:
        """Reads them all."""
        self._begin()
        while True:
            window = self._window
            found = self._scan.ends(window.data, window.at + self._scanned, len(window.data))
            for end in found.ends:
                self._take(end - window.at)
                if self._builder.full:
                    yield self._builder.take()
            self._scanned = found.at - window.at
            if not self._goes_on_behind(found.stop):
                break
        self._finish()
        self._books.flush()

    def _begin(self) -> None:
        """Goes behind the bracket of an array."""
        if self._array:
            window = self._window
            self._start = self._scanned = window.data.index(b"[", window.at) - window.at + 1

    def _goes_on_behind(self, stop: Stop) -> bool:
        """Makes ready for what comes next, if there is anything."""
        if stop is Stop.OPEN:
            if self._scanned > MAX_LINE_BYTES:
                self._let_go(self._scanned)
            return self._window.fill(self._scanned + 1) > self._scanned
        if stop is Stop.CLOSED:
            return self._goes_on_behind_array()
        return stop is Stop.FULL or self._recovers(self._scanned)

    def _goes_on_behind_array(self) -> bool:
        self._pass_blank()
        self._scan.start_anew()
        self._scanned, self._closed = 0, True
        if not self._window.fill(1):
            return False
        if self._window.data[self._window.at] == ord("["):
            self._closed = False
            self._begin()
            return True
        return self._recovers(0)

    def _pass_blank(self) -> None:
        """Gives the white space behind an array to its last element."""
        window = self._window
        while window.fill(1):
            rest = bytes(memoryview(window.data)[window.at :])
            blank = len(rest) - len(rest.lstrip(_BLANK))
            self._books.more(window.drop(blank))
            if blank < len(rest):
                return

    def _recovers(self, wrong: int) -> bool:
        """Goes on at the next element that can be read; what is before is lost.

        Args:
            wrong: where the bytes stopped to be JSON, from the window's start.
        """
        too_long = self._num_gone + wrong > MAX_LINE_BYTES
        start = wrong if too_long else 0
        found = next_element(self._window, start, self._let_go, array=self._array)
        if found is None:
            return False
        part = self._held(found.cut).strip(_BLANK)
        part = part.removesuffix(b",") if self._array else part
        self._put(self._found(part, self._num_gone + found.cut), part, found.cut)
        self._start = self._scanned = found.start - found.cut
        self._scan.start_anew()
        self._closed = False
        return True

    def _let_go(self, num_bytes: int) -> None:
        """Passes bytes of an element that is too long, or lost."""
        if not self._num_gone:
            self._head = self._window.head()
        self._num_gone += self._window.drop(num_bytes)
        self._start = self._scanned = max(self._scanned - num_bytes, 0)

    def _held(self, end: int) -> bytes:
        """What is held of the element, with what ends it, or the head of what is gone."""
        if self._num_gone:
            return self._head
        window = self._window
        return bytes(memoryview(window.data)[window.at + self._start : window.at + end])

    def _take(self, end: int) -> None:
        """Takes what is in front of an end as an element."""
        part = self._held(end)
        size = self._num_gone + end
        closing = self._array and self._window.data[self._window.at + end - 1] == ord("]")
        if self._array and not self._num_gone:
            part = part[:-1]
        part = part.strip(_BLANK)
        if part or not closing:
            self._put(self._found(part, size), part, end)
        elif self._books.empty:
            self._put(Refused("empty_file", "an array without elements"), b"", end)
        else:
            # A comma too many.
            self._books.more(self._window.drop(end))
        self._start = 0

    def _found(self, part: bytes, num_bytes: int) -> Mapped | Refused:
        if num_bytes > MAX_LINE_BYTES:
            return Refused("line_too_long", f"{num_bytes} bytes")
        if not part:
            return Refused("invalid_json", "nothing between two commas")
        try:
            return parse_line(part, self._fields)
        except Refused as refused:
            return refused

    def _put(self, found: Mapped | Refused, part: bytes, end: int) -> None:
        there = part if isinstance(found, Refused) else b""
        self._books.add(found, there, self._num_gone + end)
        self._window.drop(end)
        self._head, self._num_gone, self._start = b"", 0, 0

    def _finish(self) -> None:
        """Takes what is left at the end, which is no element unless its bracket is missing."""
        held = self._window.fill(1)
        part = self._held(held).strip(_BLANK)
        found = self._found(part, self._num_gone + held) if part else None
        if isinstance(found, Mapped) or (found is not None and found.reason not in _BROKEN):
            self._put(found, part, held)
            part, held = b"", 0
        elif not self._array and not part:
            self._books.more(self._window.drop(held))
            held = 0
        refused = self._wrong_end()
        if refused is not None:
            self._put(refused, part, held)

    def _wrong_end(self) -> Refused | None:
        fault = self._window.fault
        if fault is not None:
            passed = self._window.offset + self._window.fill(1)
            return Refused(fault.reason, f"{fault.detail}, after {passed} unpacked bytes")
        left = self._num_gone + self._window.fill(1)
        if self._closed and left:
            return Refused("invalid_json", "bytes behind the array")
        if not self._closed and (left or self._array):
            return Refused("invalid_json", "it is not closed")
        return None
