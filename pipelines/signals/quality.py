"""Counts of words and lines: what the quality rules of Gopher, C4 and FineWeb stand on."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pipelines.signals.segments import (
    ALPHABETIC,
    BULLETED,
    DOTTED,
    ELLIPSIS,
    ENDS,
    HASH,
    WORD,
    Segmenter,
    Segments,
)
from pipelines.signals.stop_words import ENGLISH, WORDS_OF

SHORT_LINE_CHARS = 30
# Columns of what the kernels give.
TOKENS, WORDS, WORD_CHARS, ALPHABETICS, HASHES, ELLIPSES = range(6)
LINES, ENDING, DOTS, BULLETS, SHORT = range(5)

_PRIME = np.uint64(0x9E3779B97F4A7C15)
_SLOT_BITS = 9

# What a kernel is handed: arrays of one dimension, or of two for counts.
Buffer = NDArray[Any]


def words_counted(segments: Segments) -> NDArray[np.int64]:
    """Tokens, words and what they are.

    Returns:
        Shape (texts, 6), int64.
    """
    counts = np.zeros((len(segments.tallies), 6), np.int64)
    _count_words(segments.token_starts, segments.marks, segments.lengths, counts)
    return counts


def lines_counted(segments: Segments) -> NDArray[np.int64]:
    """Lines, and those that end a sentence, end in dots, begin with a bullet, or are short.

    Returns:
        Shape (texts, 5), int64.
    """
    counts = np.zeros((len(segments.tallies), 5), np.int64)
    _count_lines(segments.line_starts, segments.line_marks, segments.line_lengths, counts)
    return counts


class StopWords:
    """Counts how many of the stop words of a text's language occur in it."""

    def __init__(self) -> None:
        self._languages, segmenter = list(WORDS_OF), Segmenter()
        size = (len(WORDS_OF), 1 << _SLOT_BITS)
        self._factors = np.zeros(len(WORDS_OF), np.uint64)
        self._hashes, self._bits = np.zeros(size, np.uint64), np.zeros(size, np.uint64)
        for number, words in enumerate(WORDS_OF.values()):
            both = pa.array([*words, *(word.capitalize() for word in words)], pa.large_string())
            hashes = segmenter.segments_of(both).hashes
            factor, slots = _apart(hashes)
            self._factors[number] = factor
            self._hashes[number, slots] = hashes
            bits = np.uint64(1) << np.arange(len(words), dtype=np.uint64)
            self._bits[number, slots] = np.tile(bits, 2)

    def counted(self, found: Segments, languages: pa.Array | None) -> NDArray[np.int64]:
        """Different stop words of each text, in lower case or with a capital.

        Args:
            languages: codes of the texts, or None where all are taken as English.

        Returns:
            Shape (texts,), int64; 0 where the language has no list.
        """
        counts = np.zeros(len(found.tallies), np.int64)
        if languages is None:
            lists = np.full(len(counts), self._languages.index(ENGLISH), np.int64)
        else:
            places = pc.index_in(languages, pa.array(self._languages, languages.type))
            lists = np.asarray(pc.fill_null(places, -1)).astype(np.int64)
        tables = (self._factors, self._hashes, self._bits)
        _count_stop_words(found.token_starts, found.hashes, lists, *tables, counts)
        return counts


def _apart(hashes: NDArray[np.uint64]) -> tuple[np.uint64, NDArray[np.uint64]]:
    """A factor that puts different hashes into different slots, and the slots."""
    factor = _PRIME
    while True:
        slots = (hashes * factor) >> np.uint64(64 - _SLOT_BITS)
        if len(np.unique(slots)) == len(np.unique(hashes)):
            return factor, slots
        factor = np.uint64((int(factor) * 3) & (2**64 - 1))


@numba.njit(cache=True, nogil=True)
def _count_words(starts: Buffer, marks: Buffer, lengths: Buffer, counts: Buffer) -> None:
    for row in range(len(starts) - 1):
        words = word_chars = alphabetic = hashes = np.int64(0)
        ellipses: Any = np.int64(0)
        for at in range(starts[row], starts[row + 1]):
            mark, length = np.int64(marks[at]), np.int64(lengths[at])
            word = mark & WORD
            words += word
            word_chars += length * word
            alphabetic += (mark & ALPHABETIC) // ALPHABETIC
            if mark & (HASH | ELLIPSIS):
                if mark & HASH:
                    hashes += length
                else:
                    ellipses += max(length // 3, 1)
        counts[row, TOKENS] = starts[row + 1] - starts[row]
        counts[row, WORDS], counts[row, WORD_CHARS] = words, word_chars
        counts[row, ALPHABETICS], counts[row, HASHES] = alphabetic, hashes
        counts[row, ELLIPSES] = ellipses


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


@numba.njit(cache=True, nogil=True)
def _count_stop_words(
    starts: Buffer,
    tokens: Buffer,
    lists: Buffer,
    factors: Buffer,
    hashes: Buffer,
    bits: Buffer,
    counts: Buffer,
) -> None:
    for row in range(len(lists)):
        number = lists[row]
        if number < 0:
            continue
        factor, seen = factors[number], np.uint64(0)
        own_hashes, own_bits = hashes[number], bits[number]
        for at in range(starts[row], starts[row + 1]):
            token = tokens[at]
            slot = (token * factor) >> np.uint64(64 - _SLOT_BITS)
            # No branch: one would be foretold wrong every third word.
            seen |= own_bits[slot] * np.uint64(own_hashes[slot] == token)
        while seen:
            counts[row] += 1
            seen &= seen - np.uint64(1)
