"""Choosing survivors among documents that may be near duplicates, verified on the text.

Documents are taken by rank. Each is compared, on its whole set of shingles, with the
survivors so far that share a crowd with it, those of the nearest rank first; the one that
is most alike stands for it, if it is like enough, else it survives itself. So whoever makes
way was compared with the one that stands for it, and nothing follows from a chain of others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from pipelines.dedup.order import Ints
from pipelines.dedup.shingles import Hashes, Offsets
from pipelines.signals.signal import MILLION

# Survivors that one document is compared with in one crowd, at most.
MOST_COMPARED = 64


@dataclass(frozen=True, slots=True)
class Chosen:
    """What became of the members of a contest.

    Attributes:
        survivor: the member that stands for each, or -1 where it survives.
        similarity: to it, in millionths; 0 for survivors.
        compared: pairs of texts that were compared.
        cut_off: pairs that were not, of documents that survive, since a crowd held more
            survivors than are compared; those who met in several crowds count in each.
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
    fixed: int = 0,
) -> Chosen:
    """Chooses among members that stand in the order of their rank.

    Args:
        shingles: of each member, sorted and each once.
        crowd, member: which members share a crowd, as pairs in any order.
        threshold: of similarity, in millionths, 1 or more; reached counts as alike.
        containment: measure by the share of the smaller set, else by Jaccard.
        fixed: so many members at the start survive whatever they are like, such as
            documents of other versions.
    """
    num_members, num_crowds = len(shingles[1]) - 1, int(crowd.max(initial=-1)) + 1
    order = np.lexsort((crowd, member))
    owners = member[order]
    bounds = np.searchsorted(owners, np.arange(num_members + 1))
    none = (num_crowds, len(order), num_members)
    newest, following, met = (np.full(size, -1, np.int64) for size in none)
    lists = (newest, following, np.zeros(num_crowds, np.int64), met)
    survivor = np.full(num_members, -1, np.int64)
    similarity, counts = np.zeros(num_members, np.int64), np.zeros(2, np.int64)
    pairs = (crowd[order], owners, bounds)
    limits = (threshold, fixed)
    _choose(shingles, pairs, lists, limits, containment, survivor, similarity, counts)
    return Chosen(survivor, similarity, int(counts[0]), int(counts[1]))


@numba.njit(cache=True, nogil=True)
def _choose(
    shingles: tuple[Hashes, Offsets],
    pairs: tuple[Ints, Ints, Ints],
    lists: tuple[Ints, Ints, Ints, Ints],
    limits: tuple[int, int],
    containment: bool,
    survivor: Ints,
    similarity: Ints,
    counts: Ints,
) -> None:
    crowds, owners, bounds = pairs
    # The survivors of a crowd are a list through the pairs, the newest of them first.
    newest, following, sizes, met = lists
    threshold, fixed = limits
    for one in range(len(survivor)):
        cut_off = 0
        for pair in range(bounds[one], bounds[one + 1]):
            crowd = crowds[pair]
            at, left, compared = newest[crowd], sizes[crowd], 0
            while one >= fixed and at >= 0 and compared < MOST_COMPARED:
                other = owners[at]
                at, left = following[at], left - 1
                if met[other] == one:
                    continue
                met[other] = one
                compared += 1
                like = _similarity(shingles, one, other, threshold, containment)
                nearer = like == similarity[one] and other < survivor[one]
                if like >= threshold and (like > similarity[one] or nearer):
                    survivor[one], similarity[one] = other, like
            counts[0] += compared
            cut_off += left if one >= fixed else 0
        if survivor[one] >= 0:
            continue
        counts[1] += cut_off
        for pair in range(bounds[one], bounds[one + 1]):
            crowd = crowds[pair]
            following[pair], newest[crowd] = newest[crowd], pair
            sizes[crowd] += 1


@numba.njit(cache=True, nogil=True)
def _similarity(
    shingles: tuple[Hashes, Offsets], one: int, two: int, threshold: int, containment: bool
) -> int:
    """Of two sorted sets, in millionths; any smaller number once it cannot be reached."""
    hashes, starts = shingles
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
