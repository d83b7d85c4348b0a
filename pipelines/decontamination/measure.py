"""How much of an evaluation item a document holds: one pass over its words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipelines.clean.codepoints import text_bytes
from pipelines.decontamination import folding
from pipelines.decontamination.grams import (
    SALTS,
    WORD_WEIGHT,
    finished,
    powers_of,
    scratch_for,
    units_of,
)
from pipelines.decontamination.index import EvalIndex
from pipelines.signals.signal import MILLION

_BASE = powers_of(1)[1]
Buffer = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Overlaps:
    """What documents hold of evaluation items, a value a document.

    Attributes:
        coverage: int64: largest share of one item's n-grams, in millionths.
        ngrams: int64: different n-grams of any items.
        item: int64: the item of the largest share, the first of equals; -1 where none.
    """

    coverage: NDArray[np.int64]
    ngrams: NDArray[np.int64]
    item: NDArray[np.int64]


def measure(texts: pa.LargeStringArray, index: EvalIndex) -> Overlaps:
    """What each text holds of the items; texts are independent of each other."""
    data, starts = text_bytes(texts)
    found = np.zeros((3, len(texts)), np.int64)
    has_short = bool(index.table.whole[index.table.totals > 0].any())
    sizes = (index.words, index.min_words) if has_short else (index.words,)
    if len(index.table.hashes):
        _measure(
            data,
            starts,
            folding.folding(),
            scratch_for(starts),
            powers_of(index.words),
            np.array(sizes, np.int64),
            np.array(SALTS, np.uint64),
            index.table,
            found,
        )
    coverage, ngrams, item = found
    return Overlaps(coverage, ngrams, item - 1)


@numba.njit(cache=True, nogil=True, inline="always")
def _place(hashed: Any, hashes: Buffer, buckets: Buffer, shift: Any) -> Any:
    bucket = np.int64(hashed >> shift)
    for place in range(buckets[bucket], buckets[bucket + 1]):
        if hashes[place] == hashed:
            return place
    return np.int64(-1)


@numba.njit(cache=True, nogil=True)
def _hold(
    units: Buffer,
    weights: Buffer,
    powers: Buffer,
    least: Any,
    salt: Any,
    table: Any,
    seen: Buffer,
    held: Buffer,
    touched: Buffer,
    tallies: Any,
) -> Any:
    """Counts the n-grams of one text that items hold, by item.

    Args:
        touched: items with a count, in the order in which they were met.
        tallies: the number of the text from 1, n-grams found, items touched.
    """
    hashes, buckets, bits, item_starts, items = table
    number, num_grams, num_touched = tallies
    mask = np.uint64(64 * len(bits) - 1)
    shift = _shift(len(buckets))
    tail, weight, rolled = 0, np.int64(0), np.uint64(0)
    for head in range(len(units)):
        rolled = rolled * _BASE + units[head]
        weight += weights[head]
        while weight - weights[tail] >= least:
            rolled -= units[tail] * powers[head - tail]
            weight -= weights[tail]
            tail += 1
        hashed = finished(rolled ^ salt)
        low = hashed & mask
        # Nearly all n-grams are in no item, and the filter knows most of them.
        maybe = (bits[low >> np.uint64(6)] >> (low & np.uint64(63))) & np.uint64(1)
        if weight < least or not maybe:
            continue
        place = _place(hashed, hashes, buckets, shift)
        if place < 0 or seen[place] == number:
            continue
        seen[place] = number
        num_grams += 1
        for item in items[item_starts[place] : item_starts[place + 1]]:
            if held[item] == 0:
                touched[num_touched] = item
                num_touched += 1
            held[item] += 1
    return num_grams, num_touched


@numba.njit(cache=True, nogil=True, inline="always")
def _shift(num_buckets: int) -> Any:
    """How far a hash is moved to leave the number of its bucket."""
    shift, width = np.uint64(64), num_buckets - 1
    while width > 1:
        shift, width = shift - np.uint64(1), width >> 1
    return shift


@numba.njit(cache=True, nogil=True)
def _best(touched: Buffer, held: Buffer, totals: Buffer, whole: Buffer) -> tuple[Any, Any]:
    """The largest share and its item from 1; the counts are zero again."""
    best, best_item = np.int64(0), np.int64(0)
    for item in touched:
        share = np.int64(held[item]) * MILLION // totals[item]
        held[item] = 0
        if whole[item] and share < MILLION:
            continue
        number = np.int64(item) + 1
        if share > best or (share == best and number < best_item):
            best, best_item = share, number
    return best, best_item


@numba.njit(cache=True, nogil=True)
def _measure(
    data: Buffer,
    text_starts: Buffer,
    tables: Any,
    scratch: Any,
    powers: Buffer,
    sizes: Buffer,
    salts: Buffer,
    table: Any,
    found: Buffer,
) -> None:
    units, weights = scratch
    hashes, buckets, bits, item_starts, items, totals, whole = table
    lookup = (hashes, buckets, bits, item_starts, items)
    seen = np.zeros(len(hashes), np.int32)
    held = np.zeros(len(totals), np.int32)
    touched = np.zeros(len(totals), np.int32)
    for row in range(len(text_starts) - 1):
        count = units_of(data, text_starts[row], text_starts[row + 1], tables, units, weights)
        grams_found, num_touched = np.int64(0), np.int64(0)
        for size in range(len(sizes)):
            grams_found, num_touched = _hold(
                units[:count],
                weights[:count],
                powers,
                WORD_WEIGHT * sizes[size],
                salts[size],
                lookup,
                seen,
                held,
                touched,
                (np.int64(row) + 1, grams_found, num_touched),
            )
        share, item = _best(touched[:num_touched], held, totals, whole)
        found[0, row], found[1, row], found[2, row] = share, grams_found, item
