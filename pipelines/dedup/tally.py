"""Tallies: in how many documents each part of texts stands, counted in bounded memory.

Each partition is tallied by itself: pairs of a part and a document, both as hashes, in
buckets of parts. To count, some buckets at a time are read from all partitions; hashes are
evenly spread, so buckets hold about as many pairs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from pipelines.dedup.order import Ints
from pipelines.dedup.shingles import Hashes

NUM_BUCKETS = 256
# Pairs that are counted at once; a bucket that holds more is counted in one go.
HELD_PAIRS = 8 << 20
_BUCKET_BITS = np.uint64(56)

TALLY = pa.schema(
    [
        pa.field("part", pa.uint64(), nullable=False),
        pa.field("document", pa.uint64(), nullable=False),
    ]
)


class Pairs(NamedTuple):
    """Which part stands in which document, by their hashes, in any order."""

    parts: Hashes
    documents: Hashes

    def tidy(self) -> Pairs:
        """By part and document, each pair once."""
        order = np.lexsort((self.documents, self.parts))
        parts, documents = self.parts[order], self.documents[order]
        new = np.ones(len(parts), np.bool_)
        new[1:] = (parts[1:] != parts[:-1]) | (documents[1:] != documents[:-1])
        return Pairs(parts[new], documents[new])

    def capped(self, most: int) -> Pairs:
        """Tidy pairs without those of a part beyond so many."""
        new = np.ones(len(self.parts), np.bool_)
        new[1:] = self.parts[1:] != self.parts[:-1]
        firsts = np.flatnonzero(new)
        sizes = np.diff(np.append(firsts, len(self.parts)))
        kept = np.arange(len(self.parts)) - np.repeat(firsts, sizes) < most
        return Pairs(self.parts[kept], self.documents[kept])


def bucket_bounds(parts: Hashes) -> Ints:
    """Where each bucket begins among ascending parts, and the end: NUM_BUCKETS + 1 places."""
    return np.searchsorted(parts >> _BUCKET_BITS, np.arange(NUM_BUCKETS + 1, dtype=np.uint64))


def bucket_runs(sizes: Ints, held: int = HELD_PAIRS) -> list[tuple[int, int]]:
    """Runs of buckets, first and last (exclusive), of about so many pairs each, or one bucket.

    Args:
        sizes: pairs of each bucket, shape (NUM_BUCKETS,).
    """
    runs, first, total = [], 0, 0
    for bucket, size in enumerate(sizes.tolist()):
        if total and total + size > held:
            runs.append((first, bucket))
            first, total = bucket, 0
        total += size
    return [*runs, (first, len(sizes))]


class Counting:
    """Counts the documents of parts, piece by piece.

    No more pairs of a part are kept than it takes to know that it is repeated, so one that
    stands everywhere costs no more than others.

    Args:
        max_documents: a part that stands in more documents is repeated.
    """

    def __init__(self, max_documents: int, held: int = HELD_PAIRS) -> None:
        self._max_documents = max_documents
        self._room = held
        self._held: list[Pairs] = []
        self._pending = 0

    def add(self, pairs: Pairs) -> None:
        """Takes pairs, in any order and as often as they come."""
        self._held.append(pairs)
        self._pending += len(pairs.parts)
        if self._pending > self._room:
            self._together()

    def repeated(self) -> Hashes:
        """The parts that stand in more than so many documents, ascending."""
        parts, counts = np.unique(self._together().parts, return_counts=True)
        return np.asarray(parts[counts > self._max_documents])

    def _together(self) -> Pairs:
        whole = Pairs(
            *(np.concatenate(column) for column in zip(_NO_PAIRS, *self._held, strict=True))
        )
        whole = whole.tidy().capped(self._max_documents + 1)
        self._held, self._pending = [whole], 0
        return whole


_NO_PAIRS = Pairs(np.zeros(0, np.uint64), np.zeros(0, np.uint64))
