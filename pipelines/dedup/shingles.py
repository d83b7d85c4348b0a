"""Shingles: runs of n words, hashed; what near duplicates are measured by.

A word is one of `pipelines.signals.segments`; punctuation, symbols and white space take no
part, so wrapping a text anew changes nothing. A text of fewer words than n has one shingle
of all of them; a text without words has none.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from pipelines.signals.segments import WORD, Segments

Hashes = NDArray[np.uint64]
Offsets = NDArray[np.int64]

_PRIME, _FACTOR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)


def shingles(segments: Segments, words: int) -> tuple[Hashes, Offsets]:
    """The shingles of each text, sorted and each once.

    Args:
        words: in a shingle, 1 or more.

    Returns:
        Hashes (uint64) of all texts, and where each text's begin (int64, texts + 1).
    """
    return sort_unique(*shingle_stream(segments, words))


def sort_unique(hashes: Hashes, starts: Offsets) -> tuple[Hashes, Offsets]:
    """Sorts the hashes of each text and leaves each once; the array given is used for it."""
    ends = np.zeros(len(starts), np.int64)
    _sort_unique(hashes, starts, ends)
    return hashes[: ends[-1]], ends


def shingle_stream(segments: Segments, words: int) -> tuple[Hashes, Offsets]:
    """The same in the order of the text, with those that repeat."""
    num_texts = len(segments.tallies)
    starts = np.zeros(num_texts + 1, np.int64)
    hashes = np.empty(len(segments.hashes) + num_texts, np.uint64)
    ring = np.zeros(words, np.uint64)
    _stream(segments.token_starts, segments.hashes, segments.marks, ring, hashes, starts)
    return hashes[: starts[-1]], starts


@numba.njit(cache=True, nogil=True)
def _stream(
    token_starts: NDArray[Any],
    tokens: NDArray[Any],
    marks: NDArray[Any],
    ring: NDArray[Any],
    hashes: NDArray[Any],
    starts: NDArray[Any],
) -> None:
    size = len(ring)
    oldest = np.uint64(1)
    for _ in range(size - 1):
        oldest *= _PRIME
    put = np.int64(0)
    for row in range(len(token_starts) - 1):
        rolled, seen = np.uint64(0), 0
        for at in range(token_starts[row], token_starts[row + 1]):
            if not marks[at] & WORD:
                continue
            place = seen % size
            if seen >= size:
                rolled -= ring[place] * oldest
            ring[place] = tokens[at]
            rolled = rolled * _PRIME + tokens[at]
            seen += 1
            if seen >= size:
                hashes[put] = _finished(rolled)
                put += 1
        if 0 < seen < size:
            hashes[put] = _finished(rolled)
            put += 1
        starts[row + 1] = put


@numba.njit(cache=True, nogil=True, inline="always")
def _finished(rolled: Any) -> Any:
    mixed = (rolled ^ (rolled >> np.uint64(32))) * _FACTOR
    mixed = (mixed ^ (mixed >> np.uint64(29))) * _PRIME
    return mixed ^ (mixed >> np.uint64(32))


@numba.njit(cache=True, nogil=True)
def _sort_unique(hashes: NDArray[Any], starts: NDArray[Any], ends: NDArray[Any]) -> None:
    put = np.int64(0)
    for row in range(len(starts) - 1):
        part = np.sort(hashes[starts[row] : starts[row + 1]])
        for at in range(len(part)):
            if at == 0 or part[at] != part[at - 1]:
                hashes[put] = part[at]
                put += 1
        ends[row + 1] = put
