"""Row groups of a Parquet file: their bytes, sizes and digests."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from lineage.digest import Digest, frame

_READ_BYTES = 1 << 20


class CorruptParquet(Exception):
    """Bytes that are no Parquet: becomes a quarantine row, never reaches a user."""


class RowGroups:
    """An open Parquet file, seen as row groups.

    Args:
        path: a readable file.

    Raises:
        CorruptParquet: the footer cannot be read.
        OSError: the file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._file = pa.OSFile(str(path))
        try:
            # Streaming through a small buffer: a row group may be larger than memory.
            self.parquet = pq.ParquetFile(self._file, pre_buffer=False, buffer_size=_READ_BYTES)
            self._metadata = self.parquet.metadata
        except (pa.ArrowException, OSError) as error:
            self._file.close()
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise CorruptParquet(type(error).__name__) from None
        self.count: int = self._metadata.num_row_groups
        self.total_rows: int = self._metadata.num_rows

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def num_rows(self, group: int) -> int:
        """Rows of a row group, as the footer says."""
        rows: int = self._metadata.row_group(group).num_rows
        return rows

    def size_bytes(self, group: int) -> int:
        """Bytes of a row group in the file, compressed."""
        return sum(length for _, _, length in self._chunks(group))

    def rows_of_bytes(self, group: int, num_bytes: int) -> int:
        """Rows of a row group that hold about so many bytes unpacked; 1 or more."""
        row_group = self._metadata.row_group(group)
        rows: int = num_bytes * row_group.num_rows // max(row_group.total_byte_size, 1)
        return max(rows, 1)

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
