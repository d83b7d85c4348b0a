"""MinHash signatures in bands: texts that are alike share a band key.

One permutation hashing: a shingle falls into one of bands x rows bins and each bin keeps
its smallest value; an empty bin takes the value of another one that a hash of its number
chooses (optimal densification, Shrivastava 2017, arXiv 1703.04664). So a shingle costs one
hash, however many bands there are. Two texts of Jaccard similarity s share at least one of
b band keys of r rows with probability about 1 - (1 - s**r)**b.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from pipelines.dedup.shingles import shingle_stream
from pipelines.signals.segments import Segments

# The key of a text without words: it is like no other.
NO_KEY = np.uint64(0)

_PRIME, _FACTOR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_LOW = np.uint64(0xFFFFFFFF)
_EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)


def band_keys(segments: Segments, words: int, bands: int, rows: int) -> NDArray[np.uint64]:
    """The band keys of each text.

    Args:
        words: in a shingle.
        bands, rows: of the signature.

    Returns:
        Shape (texts, bands), uint64; all `NO_KEY` for a text without words.
    """
    hashes, starts = shingle_stream(segments, words)
    keys = np.zeros((len(starts) - 1, bands), np.uint64)
    _band_keys(hashes, starts, np.empty(bands * rows, np.uint64), rows, keys)
    return keys


@numba.njit(cache=True, nogil=True)
def _band_keys(
    hashes: NDArray[Any], starts: NDArray[Any], bins: NDArray[Any], rows: int, keys: NDArray[Any]
) -> None:
    size = np.uint64(len(bins))
    filled = np.empty(len(bins), np.bool_)
    for row in range(len(starts) - 1):
        begin, end = starts[row], starts[row + 1]
        if begin == end:
            continue
        bins[:] = _EMPTY
        for at in range(begin, end):
            place = ((hashes[at] >> np.uint64(32)) * size) >> np.uint64(32)
            bins[place] = min(bins[place], hashes[at] & _LOW)
        for number in range(len(bins)):
            filled[number] = bins[number] != _EMPTY
        for number in range(len(bins)):
            attempt = np.uint64(number)
            other = np.uint64(number)
            while not filled[other]:
                attempt = (attempt + np.uint64(1)) * _FACTOR
                attempt ^= attempt >> np.uint64(31)
                other = ((attempt >> np.uint64(32)) * size) >> np.uint64(32)
            bins[number] = bins[other]
        for band in range(keys.shape[1]):
            key = np.uint64(band + 1)
            for number in range(band * rows, (band + 1) * rows):
                key = (key ^ bins[number]) * _PRIME
                key ^= key >> np.uint64(32)
            keys[row, band] = key | np.uint64(1)
