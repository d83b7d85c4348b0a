"""The index of evaluation items: which n-grams stand in which.

An n-gram that stands in more than `max_items` items is a turn of phrase of the set and
identifies none of them: it is left out. An item shorter than n words is known by shorter
n-grams, and only where a document holds them all. One shorter still is not indexed; the
counts say how many.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipelines.decontamination.grams import SALTS, WORD_WEIGHT, Grams, grams
from pipelines.spec.decontamination import DecontaminationSpec

# Bits of the filter before the table, an n-gram; and the least of them, as a power of two.
_FILTER_BITS, _LEAST_FILTER = 16, 16
# What became of an item.
INDEXED, REPEATED, TOO_SHORT, COMMON = range(4)


class GramTable(NamedTuple):
    """Hashes of n-grams and the items that hold each.

    Attributes:
        hashes: uint64, ascending, each once.
        buckets: int64: where hashes of each value of the highest bits begin; and the end.
        filter: uint64, a bit for each value of the lowest bits of a hash.
        item_starts: int64, one more than hashes: where the items of each begin in `items`.
        items: int32.
        totals: int32, by item: its n-grams in the table.
        whole: bool, by item: whether it counts only where all of them are there.
    """

    hashes: NDArray[np.uint64]
    buckets: NDArray[np.int64]
    filter: NDArray[np.uint64]
    item_starts: NDArray[np.int64]
    items: NDArray[np.int32]
    totals: NDArray[np.int32]
    whole: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class EvalCounts:
    """What became of evaluation items.

    Attributes:
        items: all of them.
        indexed: those that a document can be found to hold.
        whole: of these, the short ones that count only where they stand whole.
        repeated: the same words as an earlier item.
        too_short: below `min_words`.
        common: made of nothing but n-grams that identify no item.
        ngrams: n-grams in the index.
        common_ngrams: n-grams left out because too many items hold them.
    """

    items: int
    indexed: int
    whole: int
    repeated: int
    too_short: int
    common: int
    ngrams: int
    common_ngrams: int


@dataclass(frozen=True, slots=True)
class EvalIndex:
    """An index of evaluation items; plain arrays, read only.

    Attributes:
        words: of an n-gram.
        min_words: of an n-gram of a short item.
        table: n-grams and items.
        counts: what became of the items.
        fate: uint8, by item: one of `INDEXED`, `REPEATED`, `TOO_SHORT`, `COMMON`.
    """

    words: int
    min_words: int
    table: GramTable
    counts: EvalCounts
    fate: NDArray[np.uint8]

    @classmethod
    def build(cls, items: pa.LargeStringArray, spec: DecontaminationSpec) -> EvalIndex:
        """Indexes the texts of items, in their order.

        Memory: about 100 bytes an n-gram on the way, 30 in the end.
        """
        every = grams(items, spec.words, SALTS[0])
        fate = np.full(len(items), INDEXED, np.uint8)
        fate[every.weights < WORD_WEIGHT * spec.min_words] = TOO_SHORT
        _, first = np.unique(every.digests, return_index=True)
        again = np.ones(len(items), np.bool_)
        again[first] = False
        fate[again & (fate == INDEXED)] = REPEATED
        whole = every.weights < WORD_WEIGHT * spec.words
        used = fate == INDEXED
        short = np.flatnonzero(used & whole)
        of_short = grams(items.take(pa.array(short)), spec.min_words, SALTS[1])
        owners = np.concatenate([_owners(every, np.arange(len(items))), _owners(of_short, short)])
        hashes = np.concatenate([every.hashes, of_short.hashes])
        # Items that are too short for n-grams of n words have none of them.
        mine = used[owners]
        hashes, owners = hashes[mine], owners[mine]
        table, common = _table(hashes, owners, whole, spec.max_items)
        fate[used & (table.totals == 0)] = COMMON
        return cls(spec.words, spec.min_words, table, _counts(fate, whole, table, common), fate)


def _owners(found: Grams, numbers: NDArray[np.int64]) -> NDArray[np.int32]:
    """The item of each n-gram, given the number of each text."""
    return np.repeat(numbers.astype(np.int32), np.diff(found.starts))


def _table(
    hashes: NDArray[np.uint64],
    owners: NDArray[np.int32],
    whole: NDArray[np.bool_],
    max_items: int,
) -> tuple[GramTable, int]:
    """The table, and how many n-grams were left out."""
    # They come by items, so those of one hash stay in the order of items.
    order = np.argsort(hashes, kind="stable")
    hashes, owners = hashes[order], owners[order]
    new = np.ones(len(hashes), np.bool_)
    new[1:] = (hashes[1:] != hashes[:-1]) | (owners[1:] != owners[:-1])
    hashes, owners = hashes[new], owners[new]
    every, counts = np.unique(hashes, return_counts=True)
    rare = counts <= max_items
    owners = owners[np.repeat(rare, counts)]
    kept, starts = every[rare], np.concatenate([[0], np.cumsum(counts[rare])]).astype(np.int64)
    totals = np.bincount(owners, minlength=len(whole)).astype(np.int32)
    table = GramTable(kept, _buckets(kept), _filter(kept), starts, owners, totals, whole)
    return table, int(len(every) - len(kept))


def _buckets(hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    bits = max(1, len(hashes).bit_length())
    heads = np.arange(1 << bits, dtype=np.uint64) << np.uint64(64 - bits)
    starts = np.searchsorted(hashes, heads)
    return np.append(starts, len(hashes)).astype(np.int64)


def _filter(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    bits = max(_LEAST_FILTER, (_FILTER_BITS * len(hashes)).bit_length())
    marks = np.zeros(1 << bits, np.bool_)
    marks[hashes & np.uint64((1 << bits) - 1)] = True
    return np.packbits(marks, bitorder="little").view("<u8").astype(np.uint64)


def _counts(
    fate: NDArray[np.uint8], whole: NDArray[np.bool_], table: GramTable, common: int
) -> EvalCounts:
    indexed, repeated, too_short, no_more = (int(np.sum(fate == kind)) for kind in range(4))
    return EvalCounts(
        items=len(fate),
        indexed=indexed,
        whole=int(np.sum(whole & (fate == INDEXED))),
        repeated=repeated,
        too_short=too_short,
        common=no_more,
        ngrams=len(table.hashes),
        common_ngrams=common,
    )
