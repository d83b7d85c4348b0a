"""Kernels over the UTF-8 bytes of a column of texts, without a look at each in Python."""

from __future__ import annotations

import unicodedata
from functools import cache

import numba
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

# U+0300 is the first character that normalizing to NFC can touch; it begins with this byte.
_FIRST_LEAD_BYTE = 0xCC
_NUM_CODE_POINTS = 0x110000
# No character is assigned between the ideographs' third plane and the tags.
_ASSIGNED = (range(0x33480), range(0xE0000, 0xE0200))
_ASK = 255


def text_bytes(texts: pa.LargeStringArray) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes of a column and the offset of each text in them (one more than texts)."""
    if len(texts) == 0:
        return np.zeros(0, dtype=np.uint8), np.zeros(1, dtype=np.int64)
    _, offsets, data = texts.buffers()
    starts = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return np.frombuffer(data or b"", dtype=np.uint8), starts


def num_chars(texts: pa.LargeStringArray) -> NDArray[np.int64]:
    """Code points of each text."""
    counts: NDArray[np.int64] = _num_chars(*text_bytes(texts))
    return counts


def maybe_not_nfc(texts: pa.LargeStringArray) -> NDArray[np.int64]:
    """Places of the texts that may not be in NFC; all others certainly are.

    The quick check of Unicode Annex 15, where a character that this Python's tables do
    not know counts as a perhaps. So the answer may differ between versions of Python,
    but never by a text that normalizing would change.
    """
    data, starts = text_bytes(texts)
    suspects = np.flatnonzero(_has_lead_byte(data, starts))
    if len(suspects):
        suspects = suspects[_fails_quick_check(data, starts, suspects, _combining_classes())]
    return suspects.astype(np.int64)


@cache
def _combining_classes() -> NDArray[np.uint8]:
    """Of each code point its canonical combining class, or `_ASK`."""
    table = np.full(_NUM_CODE_POINTS, _ASK, dtype=np.uint8)
    seconds = [*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)]
    for code in (code for span in _ASSIGNED for code in span):
        char = chr(code)
        parts = unicodedata.decomposition(char).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            seconds.append(int(parts[1], 16))
        known = unicodedata.category(char) not in {"Cn", "Cs"}
        if known and (not parts or unicodedata.is_normalized("NFC", char)):
            table[code] = unicodedata.combining(char)
    table[seconds] = _ASK
    return table


@numba.njit(cache=True, nogil=True)
def _num_chars(data: NDArray[np.uint8], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    counts = np.zeros(len(starts) - 1, dtype=np.int64)
    for row in range(len(counts)):
        count = 0
        for byte in data[starts[row] : starts[row + 1]]:
            count += (byte & 0xC0) != 0x80
        counts[row] = count
    return counts


@numba.njit(cache=True, nogil=True)
def _has_lead_byte(data: NDArray[np.uint8], starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    found = np.zeros(len(starts) - 1, dtype=np.bool_)
    for row in range(len(found)):
        high = np.uint8(0)
        for byte in data[starts[row] : starts[row + 1]]:
            high = max(high, byte)
        found[row] = high >= _FIRST_LEAD_BYTE
    return found


@numba.njit(cache=True, nogil=True)
def _fails_quick_check(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    rows: NDArray[np.int64],
    classes: NDArray[np.uint8],
) -> NDArray[np.bool_]:
    fails = np.zeros(len(rows), dtype=np.bool_)
    for i in range(len(rows)):
        at, end = starts[rows[i]], starts[rows[i] + 1]
        before = np.int64(0)
        while at < end:
            lead = np.int64(data[at])
            if lead < _FIRST_LEAD_BYTE:
                # Also the second byte of U+0080 to U+02FF: class 0 either way.
                before, at = np.int64(0), at + 1
                continue
            if lead < 0xE0:
                code, at = ((lead & 0x1F) << 6) | (data[at + 1] & 0x3F), at + 2
            elif lead < 0xF0:
                high = ((lead & 0x0F) << 12) | (np.int64(data[at + 1] & 0x3F) << 6)
                code, at = high | (data[at + 2] & 0x3F), at + 3
            else:
                high = ((lead & 0x07) << 18) | (np.int64(data[at + 1] & 0x3F) << 12)
                low = (np.int64(data[at + 2] & 0x3F) << 6) | (data[at + 3] & 0x3F)
                code, at = high | low, at + 4
            combining = np.int64(classes[code])
            if combining == _ASK or (combining != 0 and combining < before):
                fails[i] = True
                break
            before = combining
    return fails
