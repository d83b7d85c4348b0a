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
    first = words[:, 0].astype(np.uint64)
    order = np.argsort(first)
    steps = _steps(first[order])
    ties = np.flatnonzero(~steps)
    # Ids are as good as random, so their first eight bytes sort them; if not, all do.
    if (words[order[ties]] != words[order[ties - 1]]).any():
        order = np.lexsort(words.astype(np.uint64).T[::-1])
        ordered = words[order]
        steps = np.logical_or.reduce([_steps(ordered[:, i]) for i in range(words.shape[1])])
    return order, steps


def same_ids(one: Ids, two: Ids) -> Mask:
    """Where two lists of ids of equal length agree."""
    words = np.ascontiguousarray(one).view(np.uint64) == np.ascontiguousarray(two).view(np.uint64)
    return np.asarray(words.all(axis=1))


def leaders(groups: Ints) -> Ints:
    """For each place of a list sorted by group, the place where its group starts."""
    places = np.arange(len(groups))
    return np.maximum.accumulate(np.where(_steps(groups), places, 0))


def in_crowds(groups: Ints) -> Mask:
    """Where a group has more than one member.

    Args:
        groups: dense numbers from 0.
    """
    return np.asarray(np.bincount(groups)[groups] > 1) if len(groups) else np.empty(0, np.bool_)


def taken(ids: Ids, rows: Ints) -> Ids:
    """The ids at these rows; a row of -1 gives any 32 bytes."""
    return ids.take(rows, axis=0) if len(ids) else np.zeros((len(rows), 32), np.uint8)


def _steps(ordered: npt.NDArray[np.uint64] | Ints) -> Mask:
    steps = np.ones(len(ordered), np.bool_)
    steps[1:] = ordered[1:] != ordered[:-1]
    return steps
