"""Counts of words and lines: what the quality rules of Gopher, C4 and FineWeb stand on."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from pipelines.signals.segments import (
    ALPHABETIC,
    BULLETED,
    DOTTED,
    ELLIPSIS,
    ENDS,
    HASH,
    WORD,
    Segments,
    key_of,
)

SHORT_LINE_CHARS = 30
# Columns of what the kernels give.
TOKENS, WORDS, WORD_CHARS, ALPHABETICS, HASHES, ELLIPSES, STOP_WORDS = range(7)
LINES, ENDING, DOTS, BULLETS, SHORT = range(5)

_PRIME = np.uint64(0x9E3779B97F4A7C15)

# Gopher's eight (Rae et al. 2021, section A.1.1), in lower case and with a capital.
_STOP_WORDS = ("the", "be", "to", "of", "and", "that", "have", "with")

# What a kernel is handed: arrays of one dimension, or of two for counts.
Buffer = NDArray[Any]


def words_counted(segments: Segments) -> NDArray[np.int64]:
    """Tokens, words and what they are; stop words are counted once each.

    Returns:
        Shape (texts, 7), int64.
    """
    counts = np.zeros((len(segments.tallies), 7), np.int64)
    names = [*_STOP_WORDS, *(word.capitalize() for word in _STOP_WORDS)]
    keys = np.array([key_of(word) for word in names], np.uint64)
    _count_words(
        segments.token_starts, segments.marks, segments.lengths, segments.keys, keys, counts
    )
    return counts


def lines_counted(segments: Segments) -> NDArray[np.int64]:
    """Lines, and those that end a sentence, end in dots, begin with a bullet, or are short.

    Returns:
        Shape (texts, 5), int64.
    """
    counts = np.zeros((len(segments.tallies), 5), np.int64)
    _count_lines(segments.line_starts, segments.line_marks, segments.line_lengths, counts)
    return counts


@numba.njit(cache=True, nogil=True)
def _count_words(
    starts: Buffer, marks: Buffer, lengths: Buffer, keys: Buffer, stop_keys: Buffer, counts: Buffer
) -> None:
    half = len(stop_keys) // 2
    # Few other words fall into the same of 256 places.
    maybe = np.zeros(256, np.bool_)
    for key in stop_keys:
        maybe[(key * _PRIME) >> np.uint64(56)] = True
    for row in range(len(starts) - 1):
        words = word_chars = alphabetic = hashes = ellipses = np.int64(0)
        found = np.uint64(0)
        for at in range(starts[row], starts[row + 1]):
            mark = marks[at]
            if mark & WORD:
                words += 1
                word_chars += lengths[at]
                alphabetic += (mark & ALPHABETIC) != 0
                key = keys[at]
                if maybe[(key * _PRIME) >> np.uint64(56)]:
                    for number in range(len(stop_keys)):
                        if key == stop_keys[number]:
                            found |= np.uint64(1) << np.uint64(number % half)
            elif mark & HASH:
                hashes += lengths[at]
            elif mark & ELLIPSIS:
                ellipses += max(lengths[at] // 3, 1)
        counts[row, TOKENS] = starts[row + 1] - starts[row]
        counts[row, WORDS], counts[row, WORD_CHARS] = words, word_chars
        counts[row, ALPHABETICS], counts[row, HASHES] = alphabetic, hashes
        counts[row, ELLIPSES] = ellipses
        while found:
            counts[row, STOP_WORDS] += 1
            found &= found - np.uint64(1)


@numba.njit(cache=True, nogil=True)
def _count_lines(starts: Buffer, marks: Buffer, lengths: Buffer, counts: Buffer) -> None:
    for row in range(len(starts) - 1):
        counts[row, LINES] = starts[row + 1] - starts[row]
        for at in range(starts[row], starts[row + 1]):
            mark = marks[at]
            counts[row, ENDING] += (mark & ENDS) != 0
            counts[row, DOTS] += (mark & DOTTED) != 0
            counts[row, BULLETS] += (mark & BULLETED) != 0
            counts[row, SHORT] += lengths[at] <= SHORT_LINE_CHARS
