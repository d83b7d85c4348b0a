"""Gathering: documents of many partitions come into the final order of a bucket."""

from __future__ import annotations

from collections.abc import Sequence

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipelines.tokens.buffers import Bytes, Offsets, large_binary, views_of


def gather(
    parts: Sequence[pa.LargeBinaryArray], order: npt.NDArray[np.int64]
) -> pa.LargeBinaryArray:
    """The values of many arrays in one order; every byte is copied once.

    Args:
        parts: large_binary arrays without nulls.
        order: int64 of shape (n, 2): the part and its row, of each value in turn.

    Raises:
        ValueError: another shape of `order`, or nulls.
        IndexError: `order` names a part or a row that does not exist.
    """
    if order.ndim != 2 or order.shape[1] != 2:
        raise ValueError(f"an order of shape {order.shape}, not (n, 2)")
    places = _places_by_part(order[:, 0], len(parts))
    views = [views_of(part) for part in parts]
    sizes = np.empty(len(order), np.int64)
    for (offsets, _), here in zip(views, places, strict=True):
        sizes[here] = _sizes(offsets, order[here, 1])
    ends = np.zeros(len(order) + 1, np.int64)
    np.cumsum(sizes, out=ends[1:])
    out = np.empty(ends[-1], np.uint8)
    for (offsets, data), here in zip(views, places, strict=True):
        _copy(offsets, data, order[here, 1], ends[here], out)
    return large_binary(ends, out)


def _places_by_part(numbers: npt.NDArray[np.int64], num_parts: int) -> list[Offsets]:
    if len(numbers) and (numbers.min() < 0 or numbers.max() >= num_parts):
        raise IndexError(f"the order names a part that is none of the {num_parts}")
    by_part = np.argsort(numbers, kind="stable")
    cuts = np.searchsorted(numbers[by_part], np.arange(num_parts + 1))
    return [by_part[cuts[part] : cuts[part + 1]] for part in range(num_parts)]


def _sizes(offsets: Offsets, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    # A row of -1 would quietly name the last one.
    if len(rows) and (rows.min() < 0 or rows.max() >= len(offsets) - 1):
        raise IndexError(f"the order names a row that is none of the {len(offsets) - 1}")
    return offsets[rows + 1] - offsets[rows]


@numba.njit(nogil=True, cache=True)
def _copy(
    offsets: Offsets,
    data: Bytes,
    rows: npt.NDArray[np.int64],
    targets: npt.NDArray[np.int64],
    out: Bytes,
) -> None:
    for number in range(len(rows)):
        start = offsets[rows[number]]
        size = offsets[rows[number] + 1] - start
        target = targets[number]
        out[target : target + size] = data[start : start + size]
