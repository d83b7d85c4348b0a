"""The units of a text that lists of words are matched on.

A *unit* is a run of letters, digits and marks, in simple case folding. Of scripts that are
written without spaces (Han, kana, Thai, Lao, Khmer, Myanmar and their kin) each code point
is a unit. Invisible joiners and hyphens are passed over: nobody can hide a word with them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numba
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipelines.clean.codepoints import text_bytes
from pipelines.signals import characters
from pipelines.signals.segments import decoded

# Kinds of code points, above the folded code point in a table of uint32.
GAP, RUN, ALONE, PASSED = 0, 1 << 24, 2 << 24, 3 << 24
_CODE = np.uint32(0x00FFFFFF)
_PRIME, _LAST = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
# No cased character stands behind the Adlam script. Case foldings of assigned characters
# are never changed, and Pythons 3.11 to 3.13 know the same cased characters.
_CASED = 0x1E944
_PASSED = (0x00AD, 0x034F, 0x180E, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF)
_WITHOUT_SPACES = (
    range(0x0E00, 0x0F00),  # Thai, Lao
    range(0x1000, 0x10A0),  # Myanmar
    range(0x1780, 0x1800),  # Khmer
    range(0x1950, 0x19E0),  # Tai Le, New Tai Lue
    range(0x1A20, 0x1AB0),  # Tai Tham
    range(0xA9E0, 0xAA00),
    range(0xAA60, 0xAAE0),  # Tai Viet
)


class Units:
    """Finds units, in room that is used again by every call."""

    def __init__(self) -> None:
        self._room = np.zeros(0, np.uint64)

    def of(self, texts: pa.LargeStringArray) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """A hash of each unit, and where each text's units begin (one more than texts).

        The lowest bit says whether anything stands between a unit and the one before it.
        The hashes stand until the next call.
        """
        data, starts = text_bytes(texts)
        size = int(starts[-1] - starts[0])
        if size > len(self._room):
            self._room = np.empty(size + size // 4, np.uint64)
        begins = np.zeros(len(texts) + 1, np.int64)
        _find(data, starts, _table(), self._room, begins)
        return self._room[: begins[-1]], begins


@cache
def _table() -> NDArray[np.uint32]:
    """Of each code point its kind and what it folds to, shape (0x110000,)."""
    kinds = characters.kinds() & characters.KIND
    table = np.arange(len(kinds), dtype=np.uint32)
    table[:_CASED] = [_folded(chr(code)) for code in range(_CASED)]
    word = (kinds == characters.LETTER) | (kinds == characters.DIGIT) | (kinds == characters.MARK)
    table[word] |= np.uint32(RUN)
    table[kinds == characters.IDEOGRAPH] |= np.uint32(ALONE)
    for span in _WITHOUT_SPACES:
        part = table[span.start : span.stop]
        part[word[span.start : span.stop]] ^= np.uint32(RUN ^ ALONE)
    table[list(_PASSED)] = PASSED
    return table


def _folded(char: str) -> int:
    for form in (char.casefold(), char.lower()):
        if len(form) == 1:
            return ord(form)
    return ord(char)


@numba.njit(cache=True, nogil=True)
def _find(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    table: NDArray[np.uint32],
    units: NDArray[np.uint64],
    begins: NDArray[np.int64],
) -> None:
    unit: Any = np.int64(0)
    for row in range(len(starts) - 1):
        at: Any = starts[row]
        end = starts[row + 1]
        mixed, inside, gap = np.uint64(0), False, np.uint64(0)
        while at < end:
            code, width = np.int64(data[at]), 1
            if code >= 0x80:
                code, width = decoded(data, at, code)
            at += width
            entry = table[code]
            kind = entry & ~_CODE
            if kind == RUN:
                mixed = (mixed ^ np.uint64(entry)) * _PRIME
                inside = True
                continue
            if kind == PASSED:
                continue
            if inside:
                units[unit] = closed(mixed, gap)
                unit, mixed, inside, gap = unit + 1, np.uint64(0), False, np.uint64(0)
            if kind == ALONE:
                units[unit] = closed(np.uint64(entry) * _PRIME, gap)
                unit, gap = unit + 1, np.uint64(0)
            else:
                gap = np.uint64(1)
        if inside:
            units[unit] = closed(mixed, gap)
            unit += 1
        begins[row + 1] = unit


@numba.njit(cache=True, nogil=True, inline="always")
def closed(mixed: Any, gap: Any) -> Any:
    """A unit: the upper 63 bits of its hash, and whether there is a gap before it."""
    mixed = (mixed ^ (mixed >> np.uint64(32))) * _LAST
    return (mixed & ~np.uint64(1)) | gap
