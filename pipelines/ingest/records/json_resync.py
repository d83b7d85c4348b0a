"""Where to go on behind an element of JSON whose quotes or brackets do not pair up.

The next element is looked for, not guessed. A place is believed where an object begins
behind a comma, a brace or a line end, can be read, and is followed by what follows elements:
more of them, and no bracket that would close an array inside an element. The text of a
string is never taken for an element, as its quotes stand behind backslashes; objects in a
list inside an element are not either, unless the list goes on for 1 MiB behind them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import orjson

from pipelines.ingest.places.window import Window
from pipelines.ingest.records.json_scan import JsonScan, Stop
from pipelines.ingest.records.lines import MAX_LINE_BYTES

_BLANK = b" \t\r\n"
# Braces in text have seldom a name and a colon behind them: those are not tried.
_BEGINS = re.compile(rb'\{[ \t\r\n]*"(?:[^"\\]|\\.)*+"[ \t\r\n]*:', re.DOTALL)
_NOT_BLANK = re.compile(rb"[^ \t\r\n]")
# What is behind a list inside an element, and never behind the elements themselves.
_GOES_ON = b",]}"
# How far a run of elements is followed.
_LOOK_BYTES = 1 << 20
# White space in front of an element that is looked through.
_BLANK_BYTES = 64 << 10
# A try that failed this near costs little: the next is made right behind its start.
_NEAR_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class Found:
    """An element to go on with.

    Attributes:
        cut: end of what is lost, from the window's start.
        start: of the element; white space is between.
    """

    cut: int
    start: int


def next_element(
    window: Window, start: int, let_go: Callable[[int], None], *, array: bool
) -> Found | None:
    """The next element that can be read, or None up to the end of the stream.

    Memory: 64 MiB of the window in front of an element, and 65 MiB behind its start.

    Args:
        start: where to look from, from the window's start.
        let_go: called to pass bytes of the window that are lost for certain.
    """
    at, scan = start, JsonScan(array=array)
    while True:
        brace = window.data.find(b"{", window.at + at) - window.at
        if brace < 0:
            at = held = len(window.data) - window.at
            if held > MAX_LINE_BYTES + _BLANK_BYTES:
                let_go(held - _BLANK_BYTES)
                at = _BLANK_BYTES
            if not window.fill(at + 1) > at:
                return None
            continue
        cut = _cut(window, brace)
        if cut is None:
            at = brace + 1
            continue
        again = _Try(window, brace, scan, array=array).made()
        if again is None:
            return Found(cut, brace)
        at = again


def _cut(window: Window, brace: int) -> int | None:
    """Where an element that starts at a brace is parted from what is before.

    None where none can start.
    """
    window.fill(brace + _BLANK_BYTES)
    start = window.at + brace
    if _BEGINS.match(window.data, start, start + _BLANK_BYTES) is None:
        return None
    low = max(window.at, window.at + brace - _BLANK_BYTES)
    before = bytes(memoryview(window.data)[low:start])
    bare = before.rstrip(_BLANK)
    if bare.endswith((b",", b"}")) or b"\n" in before[len(bare) :]:
        return low - window.at + len(bare)
    return None


class _Try:
    """An attempt to read from a brace on."""

    def __init__(self, window: Window, brace: int, scan: JsonScan, *, array: bool) -> None:
        self._window, self._brace, self._array = window, brace, array
        self._scan = scan
        self._limit = brace + MAX_LINE_BYTES

    def made(self) -> int | None:
        """None where an element starts; else where to look on."""
        end, stop = self._first()
        if end is None or not self._is_object(end):
            return self._behind(stop)
        if not self._array:
            return end if self._goes_on(end) else None
        return self._followed(end)

    def _first(self) -> tuple[int | None, int]:
        """The end of the first element, if it has one, and how far was looked."""
        at = self._brace
        self._scan.start_anew()
        while True:
            window = self._window
            stop = min(len(window.data), window.at + self._limit)
            found = self._scan.ends(window.data, window.at + at, stop)
            at = found.at - window.at
            if found.ends:
                return found.ends[0] - window.at, found.ends[0] - window.at
            if found.stop is not Stop.OPEN or at == self._limit or not window.fill(at + 1) > at:
                return None, at

    def _followed(self, end: int) -> int | None:
        """Follows the elements from the first on; None where nothing speaks against them."""
        at, self._limit = self._brace, end + _LOOK_BYTES
        self._scan.start_anew()
        while True:
            window = self._window
            stop = min(len(window.data), window.at + self._limit)
            found = self._scan.ends(window.data, window.at + at, stop)
            at = found.at - window.at
            if found.stop is Stop.CLOSED:
                return at if self._goes_on(at) else None
            if found.stop is Stop.WRONG or at == self._limit:
                return None
            if found.stop is Stop.OPEN and not window.fill(at + 1) > at:
                return None

    def _is_object(self, end: int) -> bool:
        window = self._window
        part = memoryview(window.data)[window.at + self._brace : window.at + end - self._array]
        try:
            value = orjson.loads(part)
        except orjson.JSONDecodeError:
            return False
        # Text may hold empty braces; anything in them has quotes.
        return isinstance(value, dict) and bool(value)

    def _goes_on(self, at: int) -> bool:
        self._window.fill(at + _LOOK_BYTES)
        start = self._window.at + at
        behind = _NOT_BLANK.search(self._window.data, start, start + _LOOK_BYTES)
        return behind is not None and behind[0] in _GOES_ON

    def _behind(self, stop: int) -> int:
        return self._brace + 1 if stop - self._brace <= _NEAR_BYTES else stop
