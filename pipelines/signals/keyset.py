"""A set of byte strings in a few arrays, for kernels: exact, and small for millions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipelines.clean.codepoints import text_bytes

_PRIME = np.uint64(0x9E3779B97F4A7C15)


class KeySet(NamedTuple):
    """Keys, and a table of their numbers with open addressing; -1 is a free place.

    Memory: the bytes of the keys, and 16 to 24 bytes each.
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    table: NDArray[np.int32]


def key_set(keys: pa.LargeStringArray) -> KeySet:
    """The set of some keys, at most 2**31."""
    data, starts = text_bytes(keys)
    table = np.full(1 << max(4, (2 * len(keys)).bit_length()), -1, np.int32)
    found = KeySet(data, starts, table)
    _fill(found)
    return found


@numba.njit(cache=True, nogil=True)
def _fill(keys: KeySet) -> None:
    for key in range(len(keys.starts) - 1):
        place = place_of(keys, keys.data, keys.starts[key], keys.starts[key + 1])
        keys.table[place] = key


@numba.njit(cache=True, nogil=True)
def place_of(keys: KeySet, data: NDArray[np.uint8], at: int, end: int) -> Any:
    """The place in the table of the key that some bytes are, or the free one where it would be."""
    mixed = np.uint64(end - at)
    for byte in data[at:end]:
        mixed = (mixed ^ np.uint64(byte)) * _PRIME
    mask = np.uint64(len(keys.table) - 1)
    place = (mixed >> np.uint64(24)) & mask
    while True:
        key = keys.table[place]
        if key < 0:
            return place
        begin, size = keys.starts[key], keys.starts[key + 1] - keys.starts[key]
        if size == end - at:
            same = True
            for i in range(size):
                if keys.data[begin + i] != data[at + i]:
                    same = False
                    break
            if same:
                return place
        place = (place + np.uint64(1)) & mask


@numba.njit(cache=True, nogil=True)
def contains(keys: KeySet, data: NDArray[np.uint8], at: int, end: int) -> bool:
    """Whether the bytes from `at` to `end` are a key."""
    return bool(keys.table[place_of(keys, data, at, end)] >= 0)
