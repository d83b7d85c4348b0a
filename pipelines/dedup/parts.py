"""Parts of texts that may repeat: lines, or paragraphs.

A line is what stands between line feeds and shows something; a paragraph is a run of lines
without a blank one between. Two parts are the same if their texts are, white space and
characters that do not show aside: before and behind they take no part, and any run of them
inside is one space. So a paragraph is the same however it is wrapped.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipelines.clean.codepoints import text_bytes
from pipelines.signals import characters
from pipelines.signals.segments import decoded
from pipelines.spec.repeated import PARAGRAPH

_KIND, _SPACE_KIND, _LINE_FEED = characters.KIND, characters.SPACE, 0x0A
_SPACE, _DELETE = np.uint8(0x20), np.uint8(0x7F)
_PRIME, _FACTOR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_NOTHING, _BYTE, _HALF, _LAST_BYTE = (np.uint64(bits) for bits in (0, 8, 32, 56))
Buffer = NDArray[Any]


class Parts(NamedTuple):
    """The parts of n texts.

    Attributes:
        starts: int64, n + 1: where each text's parts begin in the arrays below.
        hashes: uint64, of each part.
        lengths: int64, code points of each part, runs of white space as one.
        line_starts: int64, n + 1: where each text's lines begin in `of_lines`.
        of_lines: int64, the part that each line stands in, or -1 for a blank line.
    """

    starts: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    lengths: NDArray[np.int64]
    line_starts: NDArray[np.int64]
    of_lines: NDArray[np.int64]


def parts_of(texts: pa.LargeStringArray, unit: str) -> Parts:
    """The parts of each text.

    Args:
        unit: one of `pipelines.spec.repeated.UNITS`.
    """
    data, starts = text_bytes(texts)
    data, num = data[starts[0] : starts[-1]], len(texts)
    most = np.count_nonzero(data == _LINE_FEED) + num
    found = Parts(
        np.zeros(num + 1, np.int64),
        np.empty(most, np.uint64),
        np.empty(most, np.int64),
        np.zeros(num + 1, np.int64),
        np.empty(most, np.int64),
    )
    _parts(data, starts - starts[0], characters.kinds(), unit == PARAGRAPH, *found)
    size = found.starts[-1]
    return found._replace(hashes=found.hashes[:size], lengths=found.lengths[:size])


@numba.njit(cache=True, nogil=True, inline="always")
def _mixed(state: Any, word: Any) -> Any:
    state = (state ^ word) * _PRIME
    return state ^ (state >> _HALF)


@numba.njit(cache=True, nogil=True, inline="always")
def _taken(state: Any, word: Any, shift: Any, byte: Any) -> tuple[Any, Any, Any]:
    """The state of a hash after one more byte; eight of them are mixed in together."""
    word |= np.uint64(byte) << shift
    if shift == _LAST_BYTE:
        return _mixed(state, word), _NOTHING, _NOTHING
    return state, word, shift + _BYTE


@numba.njit(cache=True, nogil=True)
def _parts(
    data: Buffer,
    offsets: Buffer,
    kinds: Buffer,
    paragraphs: bool,
    starts: Buffer,
    hashes: Buffer,
    lengths: Buffer,
    line_starts: Buffer,
    of_lines: Buffer,
) -> None:
    part: Any = np.int64(-1)
    line: Any = np.int64(0)
    for row in range(len(offsets) - 1):
        at: Any = offsets[row]
        end = offsets[row + 1]
        is_open, more, chars = False, True, np.int64(0)
        state = word = shift = _NOTHING
        while more:
            blank, gap = True, True
            while at < end and data[at] != _LINE_FEED:
                width = _shown_width(data, at, kinds)
                if width < 0:
                    gap, at = True, at - width
                    continue
                if blank and not (paragraphs and is_open):
                    part, chars = part + 1, np.int64(0)
                    state = word = shift = _NOTHING
                    gap = False
                blank, is_open = False, True
                chars += 1 + gap
                if gap:
                    state, word, shift = _taken(state, word, shift, _SPACE)
                gap, stop = False, at + width
                while at < stop:
                    state, word, shift = _taken(state, word, shift, data[at])
                    at += 1
            of_lines[line] = -1 if blank else part
            line += 1
            if is_open:
                # Of a paragraph each line writes it anew, and the last one stays.
                whole = _mixed(_mixed(state, word), np.uint64(chars)) * _FACTOR
                hashes[part], lengths[part] = whole ^ (whole >> _HALF), chars
            is_open = is_open and not blank
            more = at < end
            at += 1
        line_starts[row + 1], starts[row + 1] = line, part + 1


@numba.njit(cache=True, nogil=True, inline="always")
def _shown_width(data: Buffer, at: int, kinds: Buffer) -> Any:
    """The bytes of the character that begins here, negative if it does not show."""
    byte = data[at]
    if _SPACE < byte < _DELETE:
        return 1
    if byte < np.uint8(0x80):
        return -1
    code, width = decoded(data, at, np.int64(byte))
    return width if kinds[code] & _KIND > _SPACE_KIND else -width
