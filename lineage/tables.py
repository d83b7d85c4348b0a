"""The root of a table: one digest for a long list of rows (frozen, docs/formats.md section 7).

The rows are the leaves of an RFC 6962 tree, so that a table can be hashed in parts and a
single row can be proved. Leaf data of a row, column by column in the order of the schema:

- a byte 0 for null, with nothing after it; else a byte 1 and then
- strings and binaries: length in bytes as u32 little-endian, then the bytes;
- integers and booleans: i64 little-endian.

The root of the table is SHA-256 of frame(``shardline/table/v1``, canonical JSON of the
columns as [name, type] pairs, number of rows as u64 little-endian, RFC 6962 root). How
wide the offsets of a string column are in memory makes no difference.
"""

from __future__ import annotations

import hashlib
import struct

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lineage.digest import Digest, canonical_json, digest_of, frame
from lineage.ledger.merkle import HASH_BYTES, RunningRoot, root_of

Bytes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]

_ROWS = 8_192
# A long value makes its whole batch wide: such batches are cut until they fit.
_BATCH_BYTES = 8 << 20


class TableRoot:
    """The root of a table that comes part by part.

    Memory: 32 bytes for each 8,192 rows and about 32 MiB, or 4 times the widest row.

    Args:
        schema: of every part.

    Raises:
        TypeError: a column is neither string, binary, boolean nor an integer that i64 holds.
    """

    def __init__(self, schema: pa.Schema) -> None:
        schema_text(schema)
        self._schema = schema
        self._leaves = RunningRoot()

    @property
    def num_rows(self) -> int:
        """How many rows came so far."""
        return self._leaves.size

    def add(self, part: pa.Table) -> None:
        """Takes the next rows."""
        for batch in part.to_batches(max_chunksize=_ROWS):
            self._leaves.add(_leaves_of(batch))

    def root(self) -> Digest:
        """The root of the rows so far."""
        return _framed(self._schema, self.num_rows, self._leaves.root())


def table_root(table: pa.Table) -> Digest:
    """The root of a table at once: see `TableRoot`."""
    whole = TableRoot(table.schema)
    whole.add(table)
    return whole.root()


def table_leaves(table: pa.Table) -> Bytes:
    """The RFC 6962 leaf hashes of the rows, shape (rows, 32), uint8.

    Leaves of consecutive parts of a table, one after the other, are those of the table.

    Raises:
        TypeError: as `table_root`.
    """
    schema_text(table.schema)
    parts = [_leaves_of(batch) for batch in table.to_batches(max_chunksize=_ROWS)]
    return np.concatenate([np.empty((0, HASH_BYTES), np.uint8), *parts])


def root_of_leaves(schema: pa.Schema, leaves: Bytes) -> Digest:
    """The root of the table that has this schema and these leaf hashes, in their order."""
    return _framed(schema, len(leaves), root_of(leaves))


def schema_text(schema: pa.Schema) -> bytes:
    """The canonical JSON of the columns' names and types.

    Raises:
        TypeError: a type that a table with a root cannot hold.
    """
    return canonical_json([[item.name, _type_word(item)] for item in schema])


def binary_matrix(column: pa.Array | pa.ChunkedArray) -> Bytes:
    """The values of a fixed-size binary column, shape (rows, width), uint8; null gives any."""
    if isinstance(column, pa.ChunkedArray):
        parts = [binary_matrix(chunk) for chunk in column.chunks]
        empty = np.empty((0, column.type.byte_width), np.uint8)
        return parts[0] if len(parts) == 1 else np.concatenate([empty, *parts])
    width = column.type.byte_width
    start = column.offset * width
    values = np.frombuffer(column.buffers()[1] or b"", np.uint8)
    return values[start : start + len(column) * width].reshape(len(column), width)


def _framed(schema: pa.Schema, num_rows: int, root: bytes) -> Digest:
    size = struct.pack("<Q", num_rows)
    return digest_of(frame(b"shardline/table/v1", schema_text(schema), size, root))


def _leaves_of(batch: pa.RecordBatch) -> Bytes:
    leaves = bytearray()
    _hash_batch(batch, leaves)
    return np.frombuffer(leaves, np.uint8).reshape(-1, HASH_BYTES)


def _type_word(item: pa.Field) -> str:
    kind = item.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "string"
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return "binary"
    if pa.types.is_fixed_size_binary(kind):
        return f"binary{kind.byte_width}"
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return f"{'int' if pa.types.is_signed_integer(kind) else 'uint'}{kind.bit_width}"
    if pa.types.is_boolean(kind):
        return "bool"
    raise TypeError(f"a table with a root holds no {kind}: column {item.name!r}")


def _hash_batch(batch: pa.RecordBatch, leaves: bytearray) -> None:
    width = 1 + sum(_widest(column) for column in batch.columns)
    if batch.num_rows > 1 and batch.num_rows * width > _BATCH_BYTES:
        middle = batch.num_rows // 2
        _hash_batch(batch.slice(0, middle), leaves)
        _hash_batch(batch.slice(middle), leaves)
        return
    # Every row at its widest, the bytes that are not there marked: numpy then closes the gaps.
    values = np.zeros((batch.num_rows, width), np.uint8)  # byte 0 is RFC 6962's mark of a leaf
    there = np.ones((batch.num_rows, width), np.bool_)
    at = 1
    for column in batch.columns:
        end = at + _widest(column)
        _lay_cell(column, values[:, at:end], there[:, at:end])
        at = end
    ends = np.cumsum(there.sum(axis=1)).tolist()
    data = values[there].data
    sha256, start = hashlib.sha256, 0
    for stop in ends:
        leaves += sha256(data[start:stop]).digest()
        start = stop


def _widest(column: pa.Array) -> int:
    """The bytes that the widest cell of a column takes."""
    if pa.types.is_fixed_size_binary(column.type):
        return 5 + int(column.type.byte_width)
    if pa.types.is_integer(column.type) or pa.types.is_boolean(column.type):
        return 9
    return 5 + int(pc.max(pc.binary_length(column)).as_py() or 0)


def _lay_cell(column: pa.Array, values: Bytes, there: Mask) -> None:
    valid = np.asarray(column.is_valid())
    values[:, 0] = valid
    there[:, 1:] = valid[:, None]
    if pa.types.is_fixed_size_binary(column.type):
        values[:, 1:5] = np.frombuffer(struct.pack("<I", column.type.byte_width), np.uint8)
        values[:, 5:] = binary_matrix(column)
    elif pa.types.is_integer(column.type) or pa.types.is_boolean(column.type):
        numbers = np.asarray(pc.fill_null(column.cast(pa.int64()), 0))
        values[:, 1:] = numbers.astype("<i8").view(np.uint8).reshape(-1, 8)
    else:
        _lay_bytes(column, values, there)


def _lay_bytes(column: pa.Array, values: Bytes, there: Mask) -> None:
    kind = pa.large_binary()
    # What lies under a null is any bytes: it is taken out before the buffer is read.
    filled = pc.fill_null(column.cast(kind), pa.scalar(b"", kind))
    _, offset_buffer, data = filled.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64)[filled.offset :][: len(filled) + 1]
    lengths = np.diff(offsets)
    values[:, 1:5] = lengths.astype("<u4").view(np.uint8).reshape(-1, 4)
    inside = np.arange(values.shape[1] - 5) < lengths[:, None]
    there[:, 5:] &= inside
    values[:, 5:][inside] = np.frombuffer(data or b"", np.uint8)[offsets[0] : offsets[-1]]
