"""The columns of token shards (`pipelines.schema.shard_schema`) as numpy arrays and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lineage.errors import IntegrityError
from pipelines.schema import shard_schema

FILL_SOURCE = 0xFFFF
_MAX_BYTES = 2**31 - 1


@dataclass(frozen=True, slots=True)
class SampleColumns:
    """The samples of one shard; views of its buffers where they come from a table.

    Attributes:
        ids: of the shard's dtype, shape (num_samples, sample_tokens).
        boundaries: u32, those of all samples in a row.
        sources: u16, one a boundary.
        pieces: int32 of shape (num_samples + 1,): sample i has the boundaries
            pieces[i] to pieces[i + 1], end exclusive.
        mask: u8 of shape (num_samples, mask bytes); a row without a mask holds anything.
        masked: bool of shape (num_samples,): the sample has a loss mask.
    """

    ids: npt.NDArray[np.unsignedinteger]
    boundaries: npt.NDArray[np.uint32]
    sources: npt.NDArray[np.uint16]
    pieces: npt.NDArray[np.int32]
    mask: npt.NDArray[np.uint8]
    masked: npt.NDArray[np.bool_]


def columns_of(samples: pa.Table, sample_tokens: int, dtype: str) -> SampleColumns:
    """Reads a table of samples.

    Raises:
        IntegrityError: another schema, or boundaries and sources that do not agree.
    """
    width = np.dtype(dtype).itemsize
    if samples.schema.remove_metadata() != shard_schema(sample_tokens, width):
        raise IntegrityError(f"not samples of {sample_tokens} tokens of {width} bytes")
    ends, boundaries = _binary(_one(samples, "boundaries"))
    source_ends, sources = _binary(_one(samples, "sources"))
    if not np.array_equal(ends, source_ends * 2) or np.any(ends % 4):
        raise IntegrityError("the samples' boundaries and sources do not agree")
    mask = _one(samples, "loss_mask")
    return SampleColumns(
        _fixed(_one(samples, "input_ids")).view(dtype).reshape(-1, sample_tokens),
        boundaries.view("<u4"),
        sources.view("<u2"),
        ends // 4,
        _fixed(mask),
        np.asarray(mask.is_valid().to_numpy(zero_copy_only=False), np.bool_),
    )


def table_of(columns: SampleColumns) -> pa.Table:
    """Makes a table of samples; it keeps the arrays alive.

    Raises:
        ValueError: more pieces in one shard than its columns can number.
    """
    if columns.boundaries.nbytes > _MAX_BYTES:
        raise ValueError("a shard holds over half a billion pieces: choose smaller shards")
    num_samples, sample_tokens = columns.ids.shape
    schema = shard_schema(sample_tokens, columns.ids.dtype.itemsize)
    valid = pa.py_buffer(np.packbits(columns.masked, bitorder="little"))
    buffers = [
        [None, pa.py_buffer(columns.ids)],
        [None, pa.py_buffer(columns.pieces * np.int32(4)), pa.py_buffer(columns.boundaries)],
        [valid, pa.py_buffer(columns.mask)],
        [None, pa.py_buffer(columns.pieces * np.int32(2)), pa.py_buffer(columns.sources)],
    ]
    arrays = [
        pa.Array.from_buffers(field.type, num_samples, parts)
        for field, parts in zip(schema, buffers, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _one(samples: pa.Table, name: str) -> pa.Array:
    chunks = samples.column(name)
    return chunks.chunk(0) if chunks.num_chunks == 1 else chunks.combine_chunks()


def _fixed(column: pa.Array) -> npt.NDArray[np.uint8]:
    width = column.type.byte_width
    # An empty column may have no buffer.
    data = column.buffers()[1] if len(column) else b""
    flat = np.frombuffer(data, np.uint8, len(column) * width, column.offset * width)
    # Never writable: numba would compile each kernel again for writable arrays.
    flat.flags.writeable = False
    return flat.reshape(len(column), width)


def _binary(column: pa.Array) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    if not len(column):
        return np.zeros(1, np.int32), np.frombuffer(b"", np.uint8)
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32, len(column) + 1, column.offset * 4)
    values = np.frombuffer(data or b"", np.uint8)
    values.flags.writeable = False
    return ends - ends[0], values[ends[0] : ends[-1]]
