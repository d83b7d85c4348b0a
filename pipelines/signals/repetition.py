"""Repetition of lines, paragraphs and n-grams of words inside one text.

As in Gopher (Rae et al. 2021, arXiv 2112.11446, table A1): the share of lines and
paragraphs that stood before, the share of characters in them, in the most frequent 2-, 3-
and 4-gram, and in 5- to 10-grams that stood before, each character counted once.

An n-gram can only repeat where both (n-1)-grams in it repeat, so each round looks at what
the one before left. Up to 4-grams it is enough to know which may repeat, and the most
frequent: they are counted in slots that several may share, and few by themselves.
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
        np.empty((len(_table(widest)), 2), np.uint64),
        np.empty(2 * len(_table(widest)) + 64, np.uint32),
        np.empty((4, widest + 1), np.uint64),
        np.empty((3, widest + 1), np.int64),
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
    tallies: Buffer,
    room: Buffer,
    more_room: Buffer,
    counts: Buffer,
) -> None:
    words, grams, slots = room[0], room[1], room[2]
    sizes, places, picked = more_room[0], more_room[1], more_room[2]
    for row in range(len(starts) - 1):
        left = np.int64(0)
        for token in range(starts[row], starts[row + 1]):
            words[left], grams[left] = hashes[token], hashes[token]
            sizes[left], places[left] = lengths[token], left
            left += marks[token] & WORD
        for n in range(2, 11):
            wanted = _next_grams(words, grams, places, left, n)
            if wanted < 2:
                break
            if n > 4:
                _count(grams, places, wanted, table, slots)
                left = _pass_over(sizes, places, wanted, n, table, slots, counts[row])
                continue
            most = _tally(grams, places, wanted, tallies, slots)
            left = np.int64(0)
            for k in range(wanted):
                slot = slots[k]
                places[left], slots[left] = places[k], slot
                left += tallies[slot] > 1
            times, first = _most(grams, places, left, most, tallies, slots, picked, table, room[3])
            if times > 1:
                counts[row, n - 2] = times * (sizes[first : first + n].sum() + n - 1)


@numba.njit(cache=True, nogil=True, inline="always")
def _next_grams(words: Buffer, grams: Buffer, places: Buffer, left: Any, n: int) -> Any:
    """Makes n-grams where this and the next (n-1)-gram may repeat; gives how many."""
    wanted = np.int64(0)
    for k in range(left - 1):
        place = places[k]
        places[wanted] = place
        wanted += places[k + 1] == place + 1
    for k in range(wanted):
        i = places[k]
        gram = (grams[i] * _PRIME) ^ words[i + n - 1]
        grams[i] = (gram ^ (gram >> np.uint64(32))) * _PRIME
    return wanted


@numba.njit(cache=True, nogil=True, inline="always")
def _tally(grams: Buffer, places: Buffer, wanted: Any, tallies: Buffer, slots: Buffer) -> Any:
    """Counts n-grams in small slots, where others may be counted too; gives the most."""
    size, shift = np.uint64(64), np.uint64(64 - 6)
    while size < 4 * wanted:
        size, shift = size << np.uint64(1), shift - np.uint64(1)
    tallies[:size] = 0
    most = np.uint32(0)
    for k in range(wanted):
        slot = grams[places[k]] >> shift
        times = tallies[slot] + np.uint32(1)
        tallies[slot], slots[k] = times, slot
        most = max(most, times)
    return most


@numba.njit(cache=True, nogil=True)
def _most(
    grams: Buffer,
    places: Buffer,
    left: Any,
    most: Any,
    tallies: Buffer,
    slots: Buffer,
    picked: Buffer,
    table: Buffer,
    picked_slots: Buffer,
) -> tuple[Any, Any]:
    """How often the most frequent n-gram occurs, and where first.

    No n-gram occurs more often than its slot says. So those of the fullest slots are counted
    by themselves, and then all whose slot is as full as the most frequent of these is.
    """
    least = max(np.int64(most), np.int64(2))
    while True:
        num = np.int64(0)
        for k in range(left):
            picked[num] = places[k]
            num += tallies[slots[k]] >= least
        times = np.int64(_count(grams, picked, num, table, picked_slots))
        if times >= least or least == 2:
            break
        least = max(times, np.int64(2))
    for k in range(num):
        if table[picked_slots[k], 1] == np.uint64(times):
            return times, picked[k]
    return np.int64(0), np.int64(0)


@numba.njit(cache=True, nogil=True)
def _count(grams: Buffer, places: Buffer, wanted: Any, table: Buffer, slots: Buffer) -> Any:
    """Counts n-grams, each in a slot of its own; gives the most."""
    mask = _mask(wanted)
    table[: mask + np.uint64(1)] = np.uint64(0)
    most = np.uint64(0)
    for k in range(wanted):
        gram = grams[places[k]]
        at = (gram >> np.uint64(20)) & mask
        while (table[at, 0] != gram) & (table[at, 1] != 0):
            at = (at + np.uint64(1)) & mask
        table[at, 0] = gram
        table[at, 1] += np.uint64(1)
        most = max(most, table[at, 1])
        slots[k] = at
    return most


@numba.njit(cache=True, nogil=True, inline="always")
def _pass_over(
    sizes: Buffer,
    places: Buffer,
    wanted: Any,
    n: int,
    table: Buffer,
    slots: Buffer,
    counts: Buffer,
) -> Any:
    """Counts the characters of n-grams that stood before; gives how many places repeat."""
    left, passed = np.int64(0), np.int64(-1)
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
            counts[n - 2] += sizes[i : i + n].sum()
            passed = i + n
        table[at, 0] = np.uint64(0)
    return left
