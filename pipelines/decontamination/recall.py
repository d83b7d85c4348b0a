"""Recall by injection: of items put into real documents, how many are found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lineage.tables import binary_matrix
from pipelines.decontamination.index import INDEXED, EvalIndex
from pipelines.decontamination.measure import measure
from pipelines.decontamination.mutations import MUTATIONS, inject
from pipelines.dedup.order import Ints, sorted_ids
from pipelines.dedup.rows import Rows

# Injected items a mutation, and bytes of the longest document that takes one.
MOST_INJECTED = 100
_MOST_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Recall:
    """What was found of injected items.

    Attributes:
        found: documents that the rule would drop for what was put into them.
        injected: documents that an item was put into.
    """

    found: int
    injected: int


def sampled(documents: Rows, kept: Ints) -> Ints:
    """Rows of documents to put items into: those of the smallest shuffle keys, in their order.

    So they are the same for any files, partitions and order of rows.

    Args:
        documents: with ``shuffle_key`` and ``num_chars``.
        kept: rows to choose among; those that are too long are left out.
    """
    wanted = np.zeros(len(documents), np.bool_)
    wanted[kept] = True
    rows, keys = np.zeros(0, np.int64), np.zeros((0, 32), np.uint8)
    for numbers, piece in documents.read(["shuffle_key", "num_chars"], wanted):
        short = np.flatnonzero(piece["num_chars"].to_numpy() <= _MOST_BYTES)
        rows = np.concatenate([rows, numbers[short]])
        keys = np.concatenate([keys, binary_matrix(piece["shuffle_key"])[short]])
        first = sorted_ids(keys)[0][:MOST_INJECTED]
        rows, keys = rows[first], keys[first]
    return rows


def measure_recall(
    index: EvalIndex,
    texts: pa.LargeStringArray,
    items: pa.LargeStringArray,
    max_coverage: int,
    chance: np.random.Generator,
) -> dict[str, Recall]:
    """Puts items into documents in every way of `MUTATIONS`, and looks for them.

    The documents are those of at most 64 KiB that the rule keeps as they are. Items that
    are not indexed are not injected: `EvalIndex.counts` tells them.

    Args:
        texts: a sample of real documents; `MOST_INJECTED` of them are used at most.
        items: those of the index.
        max_coverage: threshold of the rule, in millionths.
        chance: from the spec's seed, so that the same build tells the same.
    """
    small = texts.filter(pc.less_equal(pc.binary_length(texts), _MOST_BYTES))
    clean = small.filter(pa.array(measure(small, index).coverage <= max_coverage))
    indexed = items.filter(pa.array(index.fate == INDEXED))
    num = min(MOST_INJECTED, len(clean)) if len(indexed) else 0
    return {
        mutation: _recall(index, _some(clean, num, chance), _some(indexed, num, chance), way)
        for mutation, way in ((name, (name, max_coverage, chance)) for name in MUTATIONS)
    }


def _recall(
    index: EvalIndex,
    texts: list[str],
    items: list[str],
    way: tuple[str, int, np.random.Generator],
) -> Recall:
    mutation, max_coverage, chance = way
    injected = pa.array(inject(texts, items, mutation, chance), pa.large_string())
    return Recall(int(np.sum(measure(injected, index).coverage > max_coverage)), len(injected))


def _some(texts: pa.LargeStringArray, num: int, chance: np.random.Generator) -> list[str]:
    """So many texts, each once as long as there are enough."""
    rounds = -(-num // max(1, len(texts)))
    orders = [chance.permutation(len(texts)) for _ in range(rounds)]
    places = np.concatenate([np.zeros(0, np.int64), *orders])[:num]
    found: list[str] = texts.take(pa.array(places)).to_pylist()
    return found
