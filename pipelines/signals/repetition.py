"""Repetition of lines, paragraphs and n-grams of words inside one text.

As in Gopher (Rae et al. 2021, arXiv 2112.11446, table A1): the share of lines and
paragraphs that stood before, the share of characters in them, in the most frequent 2-, 3-
and 4-gram, and in 5- to 10-grams that stood before, each character counted once.

An n-gram can only repeat where both (n-1)-grams in it repeat, so each round looks at what
the one before left, and most texts are done after three.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from pipelines.signals.catalogue import REPEATED, TOP
from pipelines.signals.segments import WORD, Segments

# Columns of what the kernels give.
LINES, LINE_CHARS, PARAGRAPHS, PARAGRAPH_CHARS, NUM_PARAGRAPHS = range(5)

_PRIME = np.uint64(0x9E3779B97F4A7C15)

# What a kernel is handed: arrays of one dimension, or of two for counts.
Buffer = NDArray[Any]


def repeated_lines(segments: Segments) -> NDArray[np.int64]:
    """Lines and paragraphs that stood before, and their characters; paragraphs in all.

    Returns:
        Shape (texts, 5), int64.
    """
    counts = np.zeros((len(segments.tallies), 5), np.int64)
    widest = int(np.diff(segments.line_starts).max(initial=0))
    _repeated_lines(
        segments.line_starts,
        segments.line_hashes,
        segments.line_lengths,
        segments.paragraphs,
        _table(widest),
        counts,
    )
    return counts


def repeated_ngrams(segments: Segments) -> NDArray[np.int64]:
    """Characters in the top 2-, 3-, 4-grams of words, and in repeated 5- to 10-grams.

    The characters of a top n-gram are counted with a space between its words, times its
    number of occurrences; an n-gram that occurs once is none. Of several as frequent the
    first counts. Repeated n-grams are gone over from the left: one that stood before is
    counted and passed over whole, any other only begins to stand there.

    Returns:
        Shape (texts, 9), int64.
    """
    counts = np.zeros((len(segments.tallies), len(TOP) + len(REPEATED)), np.int64)
    widest = int(np.diff(segments.token_starts).max(initial=0))
    _repeated_ngrams(
        segments.token_starts,
        segments.hashes,
        segments.lengths,
        segments.marks,
        np.zeros((len(_table(widest)), 2), np.uint64),
        np.empty((3, widest + 1), np.uint64),
        np.empty((2, widest + 1), np.int64),
        counts,
    )
    return counts


def _table(entries: int) -> NDArray[np.uint64]:
    """Room for a hash table that is at most half full."""
    return np.zeros(1 << max(4, (2 * entries).bit_length()), np.uint64)


@numba.njit(cache=True, nogil=True, inline="always")
def _slot(keys: Buffer, mask: Any, key: Any) -> Any:
    """Where a key stands in an open table, or where it belongs; an empty place is 0."""
    at = (key * _PRIME) >> np.uint64(20)
    while True:
        at &= mask
        if keys[at] == key or keys[at] == 0:
            return at
        at += np.uint64(1)


@numba.njit(cache=True, nogil=True, inline="always")
def _mask(entries: int) -> Any:
    size = np.uint64(16)
    while size < 2 * entries:
        size <<= np.uint64(1)
    return size - np.uint64(1)


@numba.njit(cache=True, nogil=True)
def _repeated_lines(
    starts: Buffer,
    hashes: Buffer,
    lengths: Buffer,
    paragraphs: Buffer,
    keys: Buffer,
    counts: Buffer,
) -> None:
    for row in range(len(starts) - 1):
        begin, end = starts[row], starts[row + 1]
        if end == begin:
            continue
        mask = _mask(end - begin)
        keys[: mask + np.uint64(1)] = np.uint64(0)
        for line in range(begin, end):
            key = hashes[line] | np.uint64(1)
            at = _slot(keys, mask, key)
            if keys[at] == key:
                counts[row, LINES] += 1
                counts[row, LINE_CHARS] += lengths[line]
            keys[at] = key
        counts[row, NUM_PARAGRAPHS] = paragraphs[end - 1] + 1
        if counts[row, LINES] == 0:
            continue
        keys[: mask + np.uint64(1)] = np.uint64(0)
        line = begin
        while line < end:
            key, chars, first = np.uint64(0), np.int64(-1), line
            while line < end and paragraphs[line] == paragraphs[first]:
                key = (key ^ hashes[line]) * _PRIME
                key ^= key >> np.uint64(32)
                chars, line = chars + lengths[line] + 1, line + 1
            key |= np.uint64(1)
            at = _slot(keys, mask, key)
            if keys[at] == key:
                counts[row, PARAGRAPHS] += 1
                counts[row, PARAGRAPH_CHARS] += chars
            keys[at] = key


@numba.njit(cache=True, nogil=True)
def _repeated_ngrams(
    starts: Buffer,
    hashes: Buffer,
    lengths: Buffer,
    marks: Buffer,
    table: Buffer,
    room: Buffer,
    more_room: Buffer,
    counts: Buffer,
) -> None:
    words, grams, slots = room[0], room[1], room[2]
    sizes, places = more_room[0], more_room[1]
    for row in range(len(starts) - 1):
        num = 0
        for token in range(starts[row], starts[row + 1]):
            words[num], grams[num] = hashes[token], hashes[token]
            sizes[num], places[num] = lengths[token], num
            num += marks[token] & WORD
        left = num
        for n in range(2, 11):
            # Candidates: where this and the next (n-1)-gram repeat.
            wanted = 0
            for k in range(left - 1):
                if places[k + 1] == places[k] + 1:
                    places[wanted] = places[k]
                    wanted += 1
            if wanted < 2:
                break
            mask = _mask(wanted)
            table[: mask + np.uint64(1)] = np.uint64(0)
            best = np.uint64(1)
            for k in range(wanted):
                i = places[k]
                gram = (grams[i] * _PRIME) ^ words[i + n - 1]
                gram = (gram ^ (gram >> np.uint64(32))) * _PRIME
                grams[i] = gram
                at = (gram >> np.uint64(20)) & mask
                while (table[at, 0] != gram) & (table[at, 1] != 0):
                    at = (at + np.uint64(1)) & mask
                table[at, 0] = gram
                table[at, 1] += np.uint64(1)
                best = max(best, table[at, 1])
                slots[k] = at
            left = 0
            if n <= 4:
                top = bool(best > 1)
                for k in range(wanted):
                    times = table[slots[k], 1]
                    if top and times == best:
                        top, chars = False, np.int64(n - 1)
                        for i in range(n):
                            chars += sizes[places[k] + i]
                        counts[row, n - 2] = chars * np.int64(best)
                    places[left] = places[k]
                    left += times > 1
                continue
            passed = np.int64(-1)
            for k in range(wanted):
                at, i = slots[k], places[k]
                if table[at, 1] == 1:
                    continue
                places[left] = i
                left += 1
                if i < passed:
                    continue
                # What it begins to stand for is marked in place of its hash.
                if table[at, 0] == 0:
                    for j in range(n):
                        counts[row, n - 2] += sizes[i + j]
                    passed = i + n
                table[at, 0] = np.uint64(0)
