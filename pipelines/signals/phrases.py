"""Phrases of units, found in texts: the longest one at each place, none inside another."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numba
import numpy as np
import pyarrow as pa
import unicodedata2
from numpy.typing import NDArray

from lineage.errors import ConfigError
from pipelines.listed import Listed
from pipelines.signals.units import Units

_MOST_UNITS = 64
_GAP = np.uint64(1)
_PRIME = np.uint64(0x9E3779B97F4A7C15)


class Phrases(NamedTuple):
    """Two tables of hashes with open addressing; 0 is a free place.

    Attributes:
        firsts: the first unit of each phrase.
        lengths: of each first unit, a bit for every length of its phrases: bit 0 is 1 unit.
        wholes: phrases of two units and more.
    """

    firsts: NDArray[np.uint64]
    lengths: NDArray[np.uint64]
    wholes: NDArray[np.uint64]


def phrases_of(listed: Listed) -> Phrases:
    """The phrases of a list.

    Raises:
        ConfigError: an entry has no letter or digit, or more than 64 units.
    """
    entries = [unicodedata2.normalize("NFC", entry) for entry in listed.entries.to_pylist()]
    units, begins = Units().of(pa.array(entries, pa.large_string()))
    sizes = np.diff(begins)
    for wrong in np.flatnonzero((sizes == 0) | (sizes > _MOST_UNITS)):
        what = "has no letter or digit" if sizes[wrong] == 0 else f"is longer than {_MOST_UNITS}"
        raise ConfigError(f"{listed.name}: {entries[wrong][:40]!r} {what}", "leave it out")
    masks: dict[int, int] = {}
    wholes = set()
    for begin, end in zip(begins[:-1].tolist(), begins[1:].tolist(), strict=True):
        first = int(units[begin] & ~_GAP)
        masks[first] = masks.get(first, 0) | 1 << (end - begin - 1)
        if end - begin > 1:
            wholes.add(int(_whole(units, begin, end)))
    firsts = _hashed(masks)
    lengths = np.array([masks.get(int(first), 0) for first in firsts], np.uint64)
    return Phrases(firsts, lengths, _hashed(wholes))


def count(
    units: NDArray[np.uint64], begins: NDArray[np.int64], phrases: Phrases
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many phrases stand in each text, and how many units they are."""
    counts = np.zeros((2, len(begins) - 1), np.int64)
    _count(units, begins, *phrases, counts)
    return counts[0], counts[1]


def _hashed(keys: Iterable[int]) -> NDArray[np.uint64]:
    found = np.fromiter(keys, np.uint64)
    # At most a third full, and never so small that a few keys are met by chance.
    table = np.zeros(1 << max(12, (3 * len(found)).bit_length()), np.uint64)
    _fill(table, found)
    return table


@numba.njit(cache=True, nogil=True)
def _fill(table: NDArray[np.uint64], keys: NDArray[np.uint64]) -> None:
    for key in keys:
        place = _place(table, key)
        table[place] = key


@numba.njit(cache=True, nogil=True, inline="always")
def _place(table: NDArray[np.uint64], key: Any) -> Any:
    """Where a key stands, or the free place where it would."""
    mask = np.uint64(len(table) - 1)
    place = (key >> np.uint64(24)) & mask
    while table[place] != 0 and table[place] != key:
        place = (place + np.uint64(1)) & mask
    return place


@numba.njit(cache=True, nogil=True, inline="always")
def _joined(whole: Any, unit: Any) -> Any:
    # The unit with its lowest bit: "ab c" is another phrase than "abc" in Chinese.
    whole = (whole ^ unit) * _PRIME
    return (whole ^ (whole >> np.uint64(32))) | np.uint64(1)


@numba.njit(cache=True, nogil=True)
def _whole(units: NDArray[np.uint64], begin: int, end: int) -> Any:
    whole = units[begin] & ~_GAP
    for at in range(begin + 1, end):
        whole = _joined(whole, units[at])
    return whole


@numba.njit(cache=True, nogil=True)
def _count(
    units: NDArray[np.uint64],
    begins: NDArray[np.int64],
    firsts: NDArray[np.uint64],
    lengths: NDArray[np.uint64],
    wholes: NDArray[np.uint64],
    counts: NDArray[np.int64],
) -> None:
    for row in range(len(begins) - 1):
        at: Any = begins[row]
        end = begins[row + 1]
        while at < end:
            whole = units[at] & ~_GAP
            place = _place(firsts, whole)
            if firsts[place] == 0:
                at += 1
                continue
            rest = lengths[place]
            size, best = np.int64(1), np.int64(rest & np.uint64(1))
            rest >>= np.uint64(1)
            while rest != 0 and at + size < end:
                whole = _joined(whole, units[at + size])
                size += 1
                if rest & np.uint64(1) and wholes[_place(wholes, whole)] == whole:
                    best = size
                rest >>= np.uint64(1)
            if best:
                counts[0, row] += 1
                counts[1, row] += best
            at += max(best, np.int64(1))
