"""The kernel of a scan: one pass over bytes, and a hit where a kind may stand."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from pipelines.personal.kind import Trigger

# Codes of hits: the triggers, stretches of digits, then each literal.
AT, QUAD, HEXTET = int(Trigger.AT), int(Trigger.QUAD), int(Trigger.HEXTET)
CAPITALS_2, CAPITALS_6 = int(Trigger.CAPITALS_2), int(Trigger.CAPITALS_6)
SLASHED = int(Trigger.SLASHED)
DIGITS = len(Trigger)
FIRST_LITERAL = DIGITS + 1
# Columns of hits.
ROW, START, END, CODE, NUM_DIGITS = 0, 1, 2, 3, 4
COLUMNS = 5
# What a pair of bytes may begin; numbers from BUCKET on are buckets of literals.
NOTHING, DIGIT, AT_SIGN, COLON, BUCKET = 0, 1, 2, 3, 4
_MOST_LOCAL = 96
_MOST_NAME = 64
# A stretch of digits ends where more bytes than these stand between two.
_MOST_MARKS = 4
_LINE_FEED = 10

Buffer = NDArray[Any]


@numba.njit(cache=True, nogil=True)
def scan(
    data: Buffer,
    starts: Buffer,
    table: Buffer,
    triggers: Buffer,
    least: int,
    buckets: Buffer,
    literals: Buffer,
    shapes: Buffer,
    hits: Buffer,
) -> int:
    """Writes hits as far as there is room for them; how many there are.

    Args:
        data, starts: the bytes of texts, and where each begins (one more than texts).
        table, triggers, least, buckets, literals, shapes: of a `Scanner`.
        hits: int64, shape (room, COLUMNS).
    """
    count = 0
    for row in range(len(starts) - 1):
        begin, end = starts[row], starts[row + 1]
        at, ready = _next(data, begin, begin, end, table), begin
        while at < end:
            what = _what(data, begin, at, table)
            if what == DIGIT:
                if at >= ready:
                    count, ready = _digits(data, begin, at, end, least, hits, count, row)
                count = _numbers(data, begin, at, end, triggers, hits, count, row)
            elif what == AT_SIGN:
                count = _local(data, begin, at, hits, count, row)
            elif what == COLON:
                count = _hextet(data, begin, at, hits, count, row)
            else:
                low, high = buckets[what - BUCKET], buckets[what - BUCKET + 1]
                count = _literals(
                    data, begin, at, end, literals[low:high], shapes[low:high], hits, count, row
                )
            at = _next(data, begin, at + 1, end, table)
    return count


@numba.njit(cache=True, nogil=True)
def _next(data: Buffer, begin: int, at: int, end: int, table: Buffer) -> Any:
    """The first place from here on whose byte, with the one before it, may begin something.

    Nearly all bytes pass here and no further, so that this loop has nothing else in it; places
    without a sign spare it the look whether they count from the end.
    """
    before = np.uint64(data[at - 1]) if at > begin else np.uint64(_LINE_FEED)
    for place in range(np.uint64(at), np.uint64(end)):
        here = np.uint64(data[place])
        if table[before << np.uint64(8) | here] != NOTHING:
            return np.int64(place)
        before = here
    return end


@numba.njit(cache=True, nogil=True)
def _what(data: Buffer, begin: int, at: int, table: Buffer) -> Any:
    before = np.int64(data[at - 1]) if at > begin else _LINE_FEED
    return np.int64(table[before << 8 | np.int64(data[at])])


@numba.njit(cache=True, nogil=True)
def _put(hits: Buffer, count: int, row: int, start: int, end: int, code: int, digits: int) -> int:
    """Writes a hit where there is room; counts it in any case."""
    if count < len(hits):
        hits[count, ROW], hits[count, START], hits[count, END] = row, start, end
        hits[count, CODE], hits[count, NUM_DIGITS] = code, digits
    return count + 1


@numba.njit(cache=True, nogil=True)
def _digits(
    data: Buffer, begin: int, at: int, end: int, least: int, hits: Buffer, count: int, row: int
) -> tuple[int, int]:
    """The hit of a stretch of digits and marks that begins here, and where it ends."""
    start, last, digits, marks = at, at, 0, 0
    while at < end and marks <= _MOST_MARKS:
        byte = data[at]
        if 48 <= byte < 58:
            digits, last, marks = digits + 1, at, 0
        # Space, brackets, plus, hyphen, dot, slash; bytes of no-break spaces and of hyphens.
        elif (
            byte == 32
            or (40 <= byte <= 47 and byte not in (42, 44))
            or byte in (0xC2, 0xA0, 0xE2, 0x80, 0x90, 0x91, 0x93, 0xAF)
        ):
            marks += 1
        else:
            break
        at += 1
    if digits >= least:
        count = _put(hits, count, row, start - begin, last + 1 - begin, DIGITS, digits)
    return count, last + 1


@numba.njit(cache=True, nogil=True)
def _numbers(
    data: Buffer,
    begin: int,
    at: int,
    end: int,
    triggers: Buffer,
    hits: Buffer,
    count: int,
    row: int,
) -> int:
    """Hits of the shapes that a number's first digit gives away."""
    if triggers[QUAD] and _is_quad(data, at, end):
        count = _put(hits, count, row, at - begin, at - begin + 1, QUAD, 0)
    if at == begin:
        return count
    before = data[at - 1]
    if 65 <= before <= 90:
        first = at - 1
        while first > begin and at - first < 7 and 65 <= data[first - 1] <= 90:
            first -= 1
        size = at - first
        if size == 2 and triggers[CAPITALS_2] and at + 1 < end and 48 <= data[at + 1] < 58:
            count = _put(hits, count, row, first - begin, at - begin, CAPITALS_2, 0)
        # A letter may stand for the first digit of an Italian code.
        if size >= 6 and triggers[CAPITALS_6]:
            count = _put(hits, count, row, first - begin, at - begin, CAPITALS_6, 0)
    elif before == 45 and triggers[SLASHED] and at - begin >= 16:
        dotted = data[at - 10] == 46 and data[at - 14] == 46
        if dotted and data[at - 6] == 47:
            count = _put(hits, count, row, at - 16 - begin, at - begin, SLASHED, 0)
    return count


@numba.njit(cache=True, nogil=True)
def _is_quad(data: Buffer, at: int, end: int) -> bool:
    for part in range(4):
        size = 0
        while at < end and 48 <= data[at] < 58:
            size, at = size + 1, at + 1
        if size == 0 or size > 3:
            return False
        if part < 3:
            if at >= end or data[at] != 46:
                return False
            at += 1
    return True


@numba.njit(cache=True, nogil=True)
def _local(data: Buffer, begin: int, at: int, hits: Buffer, count: int, row: int) -> Any:
    """The hit of an at sign, from where the local part before it begins, if there is one."""
    first = at
    while first > begin and at - first < _MOST_LOCAL:
        byte = data[first - 1]
        if (
            48 <= byte < 58
            or 65 <= byte <= 90
            or 97 <= byte <= 122
            or byte in (46, 95, 37, 43, 45, 39)
        ):
            first -= 1
        elif 0x80 <= byte < 0xC0 and first - 1 > begin and 0xC3 <= data[first - 2] <= 0xC9:
            first -= 2
        else:
            break
    while first < at and data[first] in (46, 37, 43, 45, 39):
        first += 1
    return _put(hits, count, row, first - begin, at + 1 - begin, AT, 0)


@numba.njit(cache=True, nogil=True)
def _hextet(data: Buffer, begin: int, at: int, hits: Buffer, count: int, row: int) -> int:
    """The hit of a colon behind four hex digits of a public address."""
    first = at - 4
    if first < begin or data[first] not in (50, 51):
        return count
    place = first + 1
    while place < at and (
        48 <= data[place] < 58 or 97 <= data[place] <= 102 or 65 <= data[place] <= 70
    ):
        place += 1
    if place == at:
        count = _put(hits, count, row, first - begin, at - begin, HEXTET, 0)
    return count


@numba.njit(cache=True, nogil=True)
def _literals(
    data: Buffer,
    begin: int,
    at: int,
    end: int,
    literals: Buffer,
    shapes: Buffer,
    hits: Buffer,
    count: int,
    row: int,
) -> int:
    """Hits of the literals of a bucket that stand around a pair."""
    for entry in range(len(shapes)):
        shape = shapes[entry]
        first = at - shape[1]
        if _stands(data, begin, first, end, literals[entry], shape):
            last, code = first - begin + shape[0], FIRST_LITERAL + shape[2]
            count = _put(hits, count, row, first - begin, last, code, 0)
    return count


@numba.njit(cache=True, nogil=True)
def _stands(data: Buffer, begin: int, first: int, end: int, literal: Buffer, shape: Buffer) -> bool:
    """Whether a literal stands there, and is assigned to where it has to be."""
    last = first + shape[0]
    if first < begin or last > end:
        return False
    place = first
    while place < last and data[place] == literal[place - first]:
        place += 1
    if place < last:
        return False
    return not shape[3] or _is_assigned(data, last, end)


@numba.njit(cache=True, nogil=True)
def _is_assigned(data: Buffer, at: int, end: int) -> bool:
    """Whether a colon or an equals sign follows, with no more than the rest of a name between."""
    for place in range(at, min(end, at + _MOST_NAME)):
        byte = data[place]
        if byte in (58, 61):
            return True
        name = 48 <= byte < 58 or 65 <= byte <= 90 or 97 <= byte <= 122
        if not (name or byte in (95, 45, 32, 9, 34, 39, 93)):
            return False
    return False
