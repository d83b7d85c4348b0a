"""Crowds: documents that share a band key, and the components that they hang together in."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from pipelines.dedup.minhash import NO_KEY
from pipelines.dedup.order import Ints


def crowds(keys: NDArray[np.uint64]) -> tuple[Ints, Ints]:
    """The documents of one band that share a key with another one.

    Memory: 24 bytes a document, so a caller holds one band at a time.

    Args:
        keys: of each document in this band.

    Returns:
        A dense number of the crowd, and the document, for each such document, by crowd.
    """
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    begins = np.ones(len(ordered), np.bool_)
    begins[1:] = ordered[1:] != ordered[:-1]
    ends = np.ones(len(ordered), np.bool_)
    ends[:-1] = begins[1:]
    crowded = ~(begins & ends) & (ordered != NO_KEY)
    return np.cumsum(begins[crowded]) - 1, order[crowded]


def components(crowd: Ints, document: Ints, num_documents: int) -> Ints:
    """The component of each document: the smallest document that it hangs together with.

    Args:
        crowd, document: pairs, sorted by crowd.
    """
    parents = np.arange(num_documents)
    _join(crowd, document, parents)
    return parents


@numba.njit(cache=True, nogil=True)
def _join(crowd: NDArray[Any], document: NDArray[Any], parents: NDArray[Any]) -> None:
    for at in range(1, len(crowd)):
        if crowd[at] != crowd[at - 1]:
            continue
        one, two = _root(parents, document[at - 1]), _root(parents, document[at])
        if one < two:
            parents[two] = one
        elif two < one:
            parents[one] = two
    for number in range(len(parents)):
        parents[number] = _root(parents, number)


@numba.njit(cache=True, nogil=True)
def _root(parents: NDArray[Any], number: int) -> int:
    while parents[number] != number:
        parents[number] = parents[parents[number]]
        number = parents[number]
    return number
