"""Clusters: a document that is kept, and all that make way for it."""

from __future__ import annotations

import numpy as np

from pipelines.dedup.order import Ints


def largest_cluster(survivor: Ints) -> tuple[int, int]:
    """The row that stands for most documents, and how many they are with itself.

    A duplicate of a duplicate counts for the one that stands at the end. Of several as
    large the first row is given; without any rows, -1 and 0.

    Args:
        survivor: the row that stands for each, or -1.
    """
    if not len(survivor):
        return -1, 0
    root = np.where(survivor < 0, np.arange(len(survivor)), survivor)
    # An occurrence makes way for a document, that for another of its content, that for a
    # near one: after two steps more nothing changes.
    root = root[root[root]]
    sizes = np.bincount(root)
    row = int(sizes.argmax())
    return row, int(sizes[row])
