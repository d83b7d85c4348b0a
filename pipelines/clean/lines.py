"""Kernels that judge the lines of texts, and write texts without some of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from pipelines.signals import characters
from pipelines.signals.segments import decoded

# What a line is; CITED is a bit beside the others.
KEPT, BLANK, GONE, CITED = 0, 1, 2, 4

_KIND, _SPACE, _LETTER, _MARK = (
    characters.KIND,
    characters.SPACE,
    characters.LETTER,
    characters.MARK,
)
_IDEOGRAPH, _JOINER = characters.IDEOGRAPH, characters.JOINER
_TERMINAL, _QUOTE = characters.TERMINAL, characters.QUOTE
_LINE_FEED, _FULL_STOP, _BRACKET, _END_BRACKET = 0x0A, 0x2E, 0x5B, 0x5D
_ELLIPSIS_CODE = 0x2026
# What a byte makes the search of a line's end look at.
_PLAIN, _AT_FEED, _AT_BRACKET, _AT_LETTER = 0, 1, 2, 3
# Letters so rare that looking for phrases by them costs little.
_RARE = b"jkvf"
_EDIT = np.frombuffer(b"[edit]", np.uint8)
_NEEDED = np.frombuffer(b"[citation needed]", np.uint8)

# What a kernel is handed: arrays of one dimension, or of two for phrases.
Buffer = NDArray[Any]


class Phrases(NamedTuple):
    """Phrases of ASCII in lower case, each with a letter of j, k, v, f, and how to find them.

    Attributes:
        looks: shape (256,), uint8: what each byte makes the search look at.
        letters: shape (phrases, longest), uint8, 0 behind the end of each.
        places: int64, where in each phrase its first rare letter stands.
    """

    looks: NDArray[np.uint8]
    letters: NDArray[np.uint8]
    places: NDArray[np.int64]

    @classmethod
    def of(cls, phrases: Sequence[bytes]) -> Phrases:
        """Makes the tables."""
        looks = np.full(256, _PLAIN, np.uint8)
        looks[_LINE_FEED], looks[_BRACKET] = _AT_FEED, _AT_BRACKET
        letters = np.zeros((len(phrases), max(map(len, phrases), default=1)), np.uint8)
        places = np.zeros(len(phrases), np.int64)
        for number, phrase in enumerate(phrases):
            letters[number, : len(phrase)] = list(phrase)
            places[number] = next(at for at, letter in enumerate(phrase) if letter in _RARE)
            letter = phrase[places[number]]
            looks[[letter, letter & ~0x20]] = _AT_LETTER
        return cls(looks, letters, places)


class Limits(NamedTuple):
    """What a line must be: 0 stands for no limit."""

    terminal: int
    min_words: int
    max_run: int
    citations: int


class Judged(NamedTuple):
    """The lines of n texts.

    Attributes:
        line_starts: int64, n + 1: where each text's lines begin in the marks.
        marks: uint8, of each line between line feeds.
        removed: int64, lines of each text that are gone.
        cited: int64, lines of each text with citations.
    """

    line_starts: NDArray[np.int64]
    marks: NDArray[np.uint8]
    removed: NDArray[np.int64]
    cited: NDArray[np.int64]


def judge(data: Buffer, starts: Buffer, limits: Limits, phrases: Phrases) -> Judged:
    """Judges every line of texts.

    Args:
        data: bytes of all texts.
        starts: int64, where each text begins, and where the last one ends.
    """
    num = len(starts) - 1
    line_starts = np.zeros(num + 1, np.int64)
    removed, cited = np.zeros(num, np.int64), np.zeros(num, np.int64)
    feeds = np.count_nonzero(data[starts[0] : starts[-1]] == _LINE_FEED)
    marks = np.empty(feeds + num, np.uint8)
    scratch = np.empty(int(np.diff(starts).max(initial=0)), np.uint8)
    # Two views of one memory, so that kernels are compiled for one kind of array.
    bare, data = _read_only(scratch), _read_only(data)
    outcome = (scratch, bare, line_starts, marks, removed, cited)
    _judge(data, _read_only(starts), characters.kinds(), *limits, *phrases, *outcome)
    return Judged(line_starts, marks, removed, cited)


def write(
    data: Buffer, starts: Buffer, places: Buffer, judged: Judged
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Texts without the lines that are gone and without citations.

    Args:
        places: of the texts to write.

    Returns:
        Their bytes, and the offset of each text in them (one more than texts).
    """
    out = np.empty(int(np.diff(starts)[places].sum()), np.uint8)
    ends = np.zeros(len(places) + 1, np.int64)
    marks = judged.marks
    _write(_read_only(data), _read_only(starts), places, judged.line_starts, marks, out, ends)
    return out[: ends[-1]], ends


def _read_only(array: Buffer) -> Buffer:
    view = array.view()
    view.flags.writeable = False
    return view


@numba.njit(cache=True, nogil=True)
def _judge(
    data: Buffer,
    starts: Buffer,
    kinds: Buffer,
    terminal: int,
    min_words: int,
    max_run: int,
    citations: int,
    looks: Buffer,
    letters: Buffer,
    places: Buffer,
    scratch: Buffer,
    bare: Buffer,
    line_starts: Buffer,
    marks: Buffer,
    removed: Buffer,
    cited: Buffer,
) -> None:
    line: Any = np.int64(0)
    for row in range(len(starts) - 1):
        at: Any = starts[row]
        end = starts[row + 1]
        while True:
            stop, bracket, found = _line_end(data, at, end, looks, letters, places)
            source, begin, close = data, at, stop
            mark = np.uint8(KEPT)
            if bracket and citations:
                size = _cut(data, at, stop, scratch, 0)
                if size < stop - at:
                    mark, source, begin, close = np.uint8(CITED), bare, np.int64(0), size
                    _, _, found = _line_end(bare, begin, close, looks, letters, places)
            entry, dotted = _last(source, begin, close, kinds)
            if entry == 0:
                mark = np.uint8(GONE) if mark else np.uint8(BLANK)
            elif (
                found
                or (terminal and (dotted or not entry & (_TERMINAL | _QUOTE)))
                or not _has_words(source, begin, close, kinds, min_words)
                or _has_run(source, begin, close, kinds, max_run)
            ):
                mark = np.uint8(GONE)
            marks[line] = mark
            line += 1
            removed[row] += mark == GONE
            cited[row] += mark == CITED
            if stop == end:
                break
            at = stop + 1
        line_starts[row + 1] = line


@numba.njit(cache=True, nogil=True)
def _line_end(
    data: Buffer, at: int, end: int, looks: Buffer, letters: Buffer, places: Buffer
) -> tuple[Any, bool, bool]:
    """The end of a line, whether a bracket stands in it, and whether a phrase does."""
    begin, bracket, found = at, False, False
    while at < end:
        look = looks[data[at]]
        if look:
            if look == _AT_FEED:
                break
            if look == _AT_BRACKET:
                bracket = True
            elif not found:
                found = _phrase_at(data, begin, at, end, letters, places)
        at += 1
    return at, bracket, found


@numba.njit(cache=True, nogil=True)
def _phrase_at(
    data: Buffer, begin: int, at: int, end: int, letters: Buffer, places: Buffer
) -> bool:
    for number in range(len(places)):
        first = at - places[number]
        if first < begin:
            continue
        i = 0
        while i < letters.shape[1] and letters[number, i] and first + i < end:
            byte = data[first + i]
            if np.uint8(0x41) <= byte <= np.uint8(0x5A):
                byte |= np.uint8(0x20)
            if byte != letters[number, i]:
                break
            i += 1
        if i == letters.shape[1] or letters[number, i] == 0:
            return True
    return False


@numba.njit(cache=True, nogil=True)
def _last(data: Buffer, begin: int, end: int, kinds: Buffer) -> tuple[Any, bool]:
    """The last character that shows, and whether it ends an ellipsis; 0 in a blank line."""
    at = end
    while at > begin:
        at -= 1
        while data[at] & 0xC0 == 0x80:
            at -= 1
        code = np.int64(data[at])
        if code >= 0x80:
            code, _ = decoded(data, at, code)
        entry = kinds[code]
        if entry & _KIND > _SPACE:
            dots = code == _FULL_STOP and at - begin >= 2
            dots = dots and data[at - 1] == _FULL_STOP and data[at - 2] == _FULL_STOP
            return entry, dots or code == _ELLIPSIS_CODE
    return np.uint8(0), False


@numba.njit(cache=True, nogil=True)
def _has_words(data: Buffer, at: int, end: int, kinds: Buffer, least: int) -> bool:
    """Whether so many words stand there, as `pipelines.signals.segments` finds them."""
    inside, joined = False, False
    while least > 0 and at < end:
        code, width = np.int64(data[at]), 1
        if code >= 0x80:
            code, width = decoded(data, at, code)
        kind = kinds[code] & _KIND
        if _LETTER <= kind <= _MARK:
            least -= not inside
            inside, joined = True, False
        elif kind == _JOINER and inside and not joined:
            joined = True
        else:
            least -= kind == _IDEOGRAPH
            inside, joined = False, False
        at += width
    return least <= 0


@numba.njit(cache=True, nogil=True)
def _has_run(data: Buffer, at: int, end: int, kinds: Buffer, most: int) -> bool:
    """Whether more code points stand without white space or an ideograph between."""
    if most == 0 or end - at <= most:
        return False
    run = 0
    while at < end:
        code, width = np.int64(data[at]), 1
        if code >= 0x80:
            code, width = decoded(data, at, code)
        kind = kinds[code] & _KIND
        run = 0 if kind in (_SPACE, _IDEOGRAPH) else run + 1
        if run > most:
            return True
        at += width
    return False


@numba.njit(cache=True, nogil=True)
def _cut(data: Buffer, at: int, end: int, out: Buffer, put: int) -> Any:
    """Copies a line without citations; gives where the copy ends."""
    while at < end:
        stop = at
        if data[at] == _BRACKET:
            stop = _citation_end(data, at, end)
        if stop == at:
            out[put] = data[at]
            put, at = put + 1, at + 1
        else:
            at = stop
    return put


@numba.njit(cache=True, nogil=True)
def _citation_end(data: Buffer, at: int, end: int) -> Any:
    """Where [1], [], [edit] or [citation needed] ends that begins here, else the same place."""
    stop = at + 1
    while stop < end and np.uint8(0x30) <= data[stop] <= np.uint8(0x39):
        stop += 1
    if stop < end and data[stop] == _END_BRACKET:
        return stop + 1
    for word in (_EDIT, _NEEDED):
        i = 0
        while i < len(word) and at + i < end and data[at + i] == word[i]:
            i += 1
        if i == len(word):
            return at + i
    return at


@numba.njit(cache=True, nogil=True)
def _write(
    data: Buffer,
    starts: Buffer,
    places: Buffer,
    line_starts: Buffer,
    marks: Buffer,
    out: Buffer,
    ends: Buffer,
) -> None:
    put: Any = np.int64(0)
    for number in range(len(places)):
        row = places[number]
        at: Any = starts[row]
        end = starts[row + 1]
        first = put
        # What is copied as it stands begins here; a gap with lines gone is written anew.
        copied, gone, gap = at, False, False
        for line in range(line_starts[row], line_starts[row + 1]):
            stop: Any = at
            while stop < end and data[stop] != _LINE_FEED:
                stop += 1
            mark = marks[line]
            if mark == GONE:
                gone = True
            elif mark == BLANK:
                gap = True
            else:
                if gone:
                    feeds = (put > first) * (1 + gap)
                    out[put : put + feeds] = _LINE_FEED
                    put, copied = put + feeds, at
                put = _copy(data, copied, at, out, put)
                if mark == CITED:
                    put = _cut(data, at, stop, out, put)
                else:
                    put = _copy(data, at, stop, out, put)
                copied, gone, gap = stop, False, False
            at = stop + 1
        if not gone:
            put = _copy(data, copied, end, out, put)
        ends[number + 1] = put


@numba.njit(cache=True, nogil=True)
def _copy(data: Buffer, at: int, end: int, out: Buffer, put: int) -> Any:
    out[put : put + end - at] = data[at:end]
    return put + end - at
