"""Choosing survivors among documents that may be near duplicates, verified on the text.

Documents are taken by rank. Each is compared, on its whole set of shingles, with the
survivors so far that share a crowd with it; the first that is like enough stands for it,
else it survives itself. So whoever makes way was compared with the one that stands for it,
and nothing follows from a chain of others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from pipelines.dedup.order import Ints
from pipelines.dedup.shingles import Hashes, Offsets
from pipelines.signals.signal import MILLION

# Survivors that one document is compared with in one crowd, at most.
MOST_COMPARED = 32


@dataclass(frozen=True, slots=True)
class Chosen:
    """What became of the members of a contest.

    Attributes:
        survivor: the member that stands for each, or -1 where it survives.
        similarity: to it, in millionths; 0 for survivors.
        compared: pairs of texts that were compared.
        cut_off: pairs that were not, since a crowd held more survivors than are compared.
    """

    survivor: Ints
    similarity: Ints
    compared: int
    cut_off: int


def choose(
    shingles: tuple[Hashes, Offsets],
    crowd: Ints,
    member: Ints,
    threshold: int,
    *,
    containment: bool,
) -> Chosen:
    """Chooses among members that stand in the order of their rank.

    Args:
        shingles: of each member, sorted and each once.
        crowd, member: which members share a crowd, as pairs in any order.
        threshold: of similarity, in millionths; reached counts as alike.
        containment: measure by the share of the smaller set, else by Jaccard.
    """
    hashes, starts = shingles
    order = np.lexsort((crowd, member))
    num_members = len(starts) - 1
    bounds = np.searchsorted(member[order], np.arange(num_members + 1))
    survivor = np.full(num_members, -1, np.int64)
    similarity = np.zeros(num_members, np.int64)
    counts = np.zeros(2, np.int64)
    crowds = crowd[order]
    num_crowds = int(crowds.max(initial=-1)) + 1
    _choose(
        hashes,
        starts,
        crowds,
        bounds,
        np.full(num_crowds, -1, np.int64),
        np.full(num_crowds, -1, np.int64),
        np.full(len(crowds), -1, np.int64),
        threshold,
        containment,
        survivor,
        similarity,
        counts,
    )
    return Chosen(survivor, similarity, int(counts[0]), int(counts[1]))


@numba.njit(cache=True, nogil=True)
def _choose(
    hashes: NDArray[Any],
    starts: NDArray[Any],
    crowds: NDArray[Any],
    bounds: NDArray[Any],
    firsts: NDArray[Any],
    lasts: NDArray[Any],
    nexts: NDArray[Any],
    threshold: int,
    containment: bool,
    survivor: NDArray[Any],
    similarity: NDArray[Any],
    counts: NDArray[Any],
) -> None:
    # Survivors of a crowd are a list through the pairs: `nexts` of a pair is the next one.
    owner = np.empty(len(crowds), np.int64)
    seen = np.full(len(survivor), -1, np.int64)
    for one in range(len(survivor)):
        for pair in range(bounds[one], bounds[one + 1]):
            owner[pair] = one
        for pair in range(bounds[one], bounds[one + 1]):
            at, met = firsts[crowds[pair]], 0
            while at >= 0 and survivor[one] < 0:
                other = owner[at]
                at = nexts[at]
                if seen[other] == one:
                    continue
                seen[other] = one
                met += 1
                if met > MOST_COMPARED:
                    counts[1] += 1
                    continue
                counts[0] += 1
                like = _similarity(hashes, starts, one, other, threshold, containment)
                if like >= threshold:
                    survivor[one], similarity[one] = other, like
            if survivor[one] >= 0:
                break
        if survivor[one] >= 0:
            continue
        for pair in range(bounds[one], bounds[one + 1]):
            crowd = crowds[pair]
            if firsts[crowd] < 0:
                firsts[crowd] = pair
            else:
                nexts[lasts[crowd]] = pair
            lasts[crowd] = pair


@numba.njit(cache=True, nogil=True)
def _similarity(
    hashes: NDArray[Any],
    starts: NDArray[Any],
    one: int,
    two: int,
    threshold: int,
    containment: bool,
) -> int:
    """Of two sorted sets, in millionths; any smaller number once it cannot be reached."""
    i, i_end, j, j_end = starts[one], starts[one + 1], starts[two], starts[two + 1]
    small, large = min(i_end - i, j_end - j), max(i_end - i, j_end - j)
    if not containment and small * MILLION < threshold * large:
        return -1
    both = 0
    while i < i_end and j < j_end:
        left, right = hashes[i], hashes[j]
        both += left == right
        i += left <= right
        j += right <= left
    whole = small if containment else small + large - both
    like: int = both * MILLION // max(whole, 1)
    return like
