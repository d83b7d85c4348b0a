"""How many near duplicates are right, by another measure on a sample of them.

Shingles of words chose them, so runs of characters judge them: two texts that share their
words by chance of hashing, or by a template around different contents, share fewer of those.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipelines.dedup.order import Ids, Ints, sorted_ids
from pipelines.schema import ID
from pipelines.signals.signal import MILLION

# Pairs in a sample; characters in a run, and of a text that are looked at.
SAMPLE_PAIRS = 100
_RUN, _MOST_CHARS = 5, 1 << 16
_PRIME = np.uint64(0x9E3779B97F4A7C15)

# One row a sampled pair, by document id; similarities in millionths, by shingles and by
# runs of characters.
NEAR_SAMPLE = pa.schema(
    [
        pa.field("document_id", ID, nullable=False),
        pa.field("survivor_id", ID, nullable=False),
        pa.field("similarity", pa.int64(), nullable=False),
        pa.field("char_similarity", pa.int64(), nullable=False),
    ]
)


def sampled(shuffle_keys: Ids) -> Ints:
    """Places of a sample: those of the smallest shuffle keys, smallest first.

    The sample of a whole is among the samples of its parts, so no number of workers and no
    order of rows changes it.

    Args:
        shuffle_keys: of the documents that make way, shape (n, 32), uint8.
    """
    order, _ = sorted_ids(shuffle_keys)
    return order[:SAMPLE_PAIRS]


def char_similarity(one: str, two: str, *, containment: bool = False) -> int:
    """Jaccard similarity of the sets of runs of five characters, in millionths.

    Runs of white space are one space. Of a longer text the first 65,536 characters count.

    Args:
        containment: the share of the smaller set instead.
    """
    first, second = _runs(one), _runs(two)
    both = len(np.intersect1d(first, second, assume_unique=True))
    small = min(len(first), len(second))
    whole = small if containment else len(first) + len(second) - both
    return both * MILLION // max(whole, 1)


def _runs(text: str) -> NDArray[np.uint64]:
    """Hashes of the runs of a text, sorted and each once; a shorter text is one run."""
    folded = " ".join(text[: 4 * _MOST_CHARS].split())[:_MOST_CHARS]
    codes = np.frombuffer(folded.encode("utf-32-le"), "<u4").astype(np.uint64)
    width = min(_RUN, len(codes))
    if width == 0:
        return np.zeros(0, np.uint64)
    mixed = np.zeros(len(codes) - width + 1, np.uint64)
    for place in range(width):
        mixed = (mixed ^ codes[place : len(codes) - width + 1 + place]) * _PRIME
        mixed ^= mixed >> np.uint64(32)
    mixed.sort()
    return np.asarray(mixed[np.append(True, mixed[1:] != mixed[:-1])])
