"""Row groups: runs of rows of a file that can be read by themselves, and those of Parquet."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from lineage.digest import Digest, frame

_READ_BYTES = 1 << 20
_BATCH_BYTES = 16 << 20
_MAX_BATCH_ROWS = 8192


class CorruptFile(Exception):
    """Bytes that are no file of rows: becomes a quarantine row, never reaches a user."""


class CorruptParquet(CorruptFile):
    """Bytes that are no Parquet."""


class Groups(Protocol):
    """An open file, seen as row groups.

    Attributes:
        count: how many groups there are.
        total_rows: rows of all groups.
        damage: why there may have been more, or empty.
    """

    count: int
    total_rows: int
    damage: str

    def num_rows(self, group: int) -> int:
        """Rows of a group, as the file says."""

    def size_bytes(self, group: int) -> int:
        """Bytes of a group in the file."""

    def digest(self, group: int) -> Digest:
        """Digest of all that a group's rows depend on."""

    def batches(self, group: int, fields: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of a group, 8,192 or about 16 MiB at a time.

        Args:
            fields: names and paths; of the columns that none of them names, none need be there.

        Raises:
            pa.ArrowException, OSError: the rest of the group cannot be read.
        """


class RowGroups:
    """An open Parquet file, seen as row groups; see `Groups`.

    Args:
        file: open for reading at any place; stays open.

    Raises:
        CorruptParquet: the footer cannot be read.
        OSError: the file cannot be read.
    """

    damage = ""

    def __init__(self, file: pa.NativeFile) -> None:
        self._file = file
        try:
            # Streaming through a small buffer: a row group may be larger than memory.
            self._parquet = pq.ParquetFile(file, pre_buffer=False, buffer_size=_READ_BYTES)
            self._metadata = self._parquet.metadata
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise CorruptParquet(type(error).__name__) from None
        self.count: int = self._metadata.num_row_groups
        self.total_rows: int = self._metadata.num_rows

    def num_rows(self, group: int) -> int:
        """Rows of a row group, as the footer says."""
        rows: int = self._metadata.row_group(group).num_rows
        return rows

    def size_bytes(self, group: int) -> int:
        """Bytes of a row group in the file, compressed."""
        return sum(length for _, _, length in self._chunks(group))

    def batches(self, group: int, fields: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of a row group; of structs only the children that are named."""
        row_group = self._metadata.row_group(group)
        rows = _BATCH_BYTES * row_group.num_rows // max(row_group.total_byte_size, 1)
        yield from self._parquet.iter_batches(
            batch_size=max(min(_MAX_BATCH_ROWS, rows), 1),
            row_groups=[group],
            # Paths that lead nowhere are passed over.
            columns=list(dict.fromkeys(fields)),
            use_threads=False,
        )

    def digest(self, group: int) -> Digest:
        """Digest of a row group's columns: name, physical type and bytes of each.

        The bytes alone do not name their columns: two that change names would look the same.
        """
        hasher = hashlib.sha256()
        for name, start, length in self._chunks(group):
            hasher.update(frame(name, length.to_bytes(8, "little")))
            self._file.seek(start)
            while length > 0 and (block := self._file.read(min(_READ_BYTES, length))):
                hasher.update(block)
                length -= len(block)
        return Digest(hasher.digest())

    def _chunks(self, group: int) -> list[tuple[bytes, int, int]]:
        row_group = self._metadata.row_group(group)
        chunks = []
        for i in range(row_group.num_columns):
            column = row_group.column(i)
            start = column.data_page_offset
            if column.has_dictionary_page:
                start = min(start, column.dictionary_page_offset)
            length = column.total_compressed_size
            if start < 0 or length < 0:
                raise CorruptParquet("a column lies outside the file")
            name = f"{column.physical_type} {column.path_in_schema}".encode()
            chunks.append((name, start, length))
        return chunks


def slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A batch in pieces of 8,192 rows or about 16 MiB, without copying."""
    size = max(batch.get_total_buffer_size(), 1)
    rows = max(min(_MAX_BATCH_ROWS, _BATCH_BYTES * batch.num_rows // size), 1)
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)
