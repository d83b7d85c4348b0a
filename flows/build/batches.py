"""Batches: so much work to a task that orchestrating it is a small share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

# Work of about half a second: a task costs tens of milliseconds to orchestrate.
BATCH_BYTES = 16 << 20


def batches_of(
    items: Sequence[T], num_bytes: Callable[[T], int], num_workers: int
) -> list[tuple[T, ...]]:
    """Items in order, in batches of about equal bytes: enough for every worker."""
    target = max(sum(map(num_bytes, items)) // (4 * num_workers), BATCH_BYTES)
    batches: list[list[T]] = [[]]
    size = 0
    for item in items:
        if batches[-1] and size + num_bytes(item) > target:
            batches.append([])
            size = 0
        batches[-1].append(item)
        size += num_bytes(item)
    return [tuple(batch) for batch in batches if batch]
