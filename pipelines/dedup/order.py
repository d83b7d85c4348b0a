"""The order of 32-byte ids: sorting, dense ranks and the first of each group, in numpy.

Everything after this works on small integers, so that ten million documents are grouped
in seconds and compared exactly.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def ranks(ids: Ids) -> Ints:
    """Dense ranks, 0 for the smallest id in byte order; equal ids have equal ranks.

    Args:
        ids: shape (n, 32), uint8.
    """
    order, steps = sorted_ids(ids)
    ranked = np.empty(len(ids), np.int64)
    ranked[order] = np.cumsum(steps) - 1
    return ranked


def sorted_ids(ids: Ids) -> tuple[Ints, Mask]:
    """The order that sorts ids bytewise, and where in it an id differs from the one before.

    Equal ids come in any order; the first place always counts as differing.

    Args:
        ids: shape (n, 32), uint8.
    """
    words = np.ascontiguousarray(ids).view(">u8")
    order = np.argsort(words[:, 0].astype(np.uint64))
    steps, first_steps = _steps(words, order)
    # Ids are as good as random, so their first eight bytes sort them; if not, all do.
    if (steps & ~first_steps).any():
        order = np.lexsort(words.astype(np.uint64).T[::-1])
        steps, _ = _steps(words, order)
    return order, steps


def same_ids(one: Ids, two: Ids) -> Mask:
    """Where two lists of ids of equal length agree."""
    words = np.ascontiguousarray(one).view(np.uint64) == np.ascontiguousarray(two).view(np.uint64)
    return np.asarray(words.all(axis=1))


def leaders(groups: Ints) -> Ints:
    """For each place of a list sorted by group, the place where its group starts."""
    places = np.arange(len(groups))
    starts = np.ones(len(groups), np.bool_)
    starts[1:] = groups[1:] != groups[:-1]
    return np.maximum.accumulate(np.where(starts, places, 0))


def in_crowds(groups: Ints) -> Mask:
    """Where a group has more than one member.

    Args:
        groups: dense numbers from 0.
    """
    return np.asarray(np.bincount(groups)[groups] > 1) if len(groups) else np.empty(0, np.bool_)


def _steps(words: npt.NDArray[np.uint64], order: Ints) -> tuple[Mask, Mask]:
    ordered = words[order]
    differs = np.ones((len(order), words.shape[1]), np.bool_)
    differs[1:] = ordered[1:] != ordered[:-1]
    return np.asarray(differs.any(axis=1)), differs[:, 0]
