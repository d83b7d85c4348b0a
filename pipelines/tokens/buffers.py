"""Columns of large binaries and strings as numpy arrays and back, without a copy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Offsets = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


def views_of(column: pa.Array) -> tuple[Offsets, Bytes]:
    """The buffers of a large_binary or large_string array; a slice is honoured.

    Returns:
        Offsets, int64 of shape (n + 1,), into the data, uint8; the first need not be 0.

    Raises:
        ValueError: another type, or a null.
    """
    if not (pa.types.is_large_binary(column.type) or pa.types.is_large_string(column.type)):
        raise ValueError(f"expected large binaries or strings, not {column.type}")
    if column.null_count:
        raise ValueError("the column holds nulls")
    # Arrow may leave buffers out where there is nothing in them.
    _, offsets, data = column.buffers()
    values = np.frombuffer(data or b"", np.uint8)
    ends = np.zeros(1, np.int64)
    if len(column):
        ends = np.frombuffer(offsets, np.int64, len(column) + 1, column.offset * 8)
    # Never writable: numba would compile each kernel again for writable arrays.
    ends.flags.writeable = values.flags.writeable = False
    return ends, values


def large_binary(offsets: Offsets, data: npt.NDArray[np.generic]) -> pa.LargeBinaryArray:
    """A large_binary array over the bytes of `data`; it keeps both arrays alive.

    Args:
        offsets: int64 of shape (n + 1,), in bytes.
        data: contiguous, of any dtype.
    """
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)
