"""Arrow IPC files and streams, seen as row groups: the record batches.

A file is a stream with a table of contents behind it. Both are read as a stream is, so that a
file whose end is missing gives what came before. A batch is the smallest unit that can be read:
one is held in memory at a time.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Sequence

import pyarrow as pa

from lineage.digest import Digest, frame
from pipelines.ingest.columnar.arrow_messages import BATCH, DICTIONARY, SCHEMA, Message, messages
from pipelines.ingest.columnar.rowgroups import CorruptFile, slices

_READ_BYTES = 1 << 20
_DOMAIN = frame(b"shardline/arrow-batch/v1")


class CorruptArrow(CorruptFile):
    """Bytes that are no Arrow IPC."""


class ArrowBatches:
    """An open Arrow IPC file or stream, seen as row groups; see `Groups`.

    Args:
        file: open for reading at any place; stays open.

    Raises:
        CorruptArrow: it does not begin with a schema.
        OSError: the file cannot be read.
    """

    def __init__(self, file: pa.NativeFile) -> None:
        self._file = file
        found = messages(file)
        self._schema_message, self._schema = self._read_schema(found.messages)
        self._random_access, self.damage = found.random_access, found.damage
        self._damaged_at = found.end
        self._dictionaries = [message for message in found.messages if message.kind == DICTIONARY]
        self._batches = [message for message in found.messages if message.kind == BATCH]
        self._heads: list[hashlib._Hash] = []
        self._reader: pa.RecordBatchReader | None = None
        self._next: tuple[int, list[int]] = (0, [])
        self.count = len(self._batches)
        self.total_rows = sum(batch.num_rows for batch in self._batches)

    def num_rows(self, group: int) -> int:
        """Rows of a batch, as its message says."""
        return self._batches[group].num_rows

    def size_bytes(self, group: int) -> int:
        """Bytes of a batch's message."""
        return self._batches[group].length

    def digest(self, group: int) -> Digest:
        """Digest of a batch's message, of the schema and of the dictionaries it may need."""
        batch = self._batches[group]
        hasher = self._begun(len(self._dictionaries_of(batch))).copy()
        self._update(hasher, batch)
        if self.damage and group == self.count - 1:
            # What is missing may be there another time.
            rest = self._file.size() - self._damaged_at
            self._update(hasher, Message(-1, self._damaged_at, rest, 0))
        return Digest(hasher.digest())

    def batches(self, group: int, fields: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of a batch; columns that no field names are not looked at."""
        names = {name for field in fields for name in (field, field.partition(".")[0])}
        wanted = [i for i, name in enumerate(self._schema.names) if name in names]
        # Batches in their order come from one reader, which knows the dictionaries so far.
        if self._reader is None or self._next != (group, wanted):
            self._reader = self._opened(group, wanted)
        reader, self._reader = self._reader, None
        batch = reader.read_next_batch()
        self._reader, self._next = reader, (group + 1, wanted)
        batch.validate()
        yield from slices(batch)

    def _opened(self, group: int, wanted: list[int]) -> pa.RecordBatchReader:
        """A stream of the batches from one on."""
        batch = self._batches[group]
        before = self._dictionaries_of(batch)
        behind = sorted(
            [*self._dictionaries[len(before) :], *self._batches[group:]],
            key=lambda message: message.start,
        )
        spliced = _Spliced(self._file, [self._schema_message, *before, *behind])
        # An empty list would mean all; one column is enough to count rows by.
        options = pa.ipc.IpcReadOptions(included_fields=wanted or [0], use_threads=False)
        return pa.ipc.open_stream(pa.PythonFile(spliced, mode="r"), options=options)

    def _dictionaries_of(self, batch: Message) -> list[Message]:
        if self._random_access:
            # In a file the order of dictionaries and batches says nothing.
            return self._dictionaries
        return [found for found in self._dictionaries if found.start < batch.start]

    def _begun(self, num_dictionaries: int) -> hashlib._Hash:
        """A hash over the schema and the first dictionaries."""
        while len(self._heads) <= num_dictionaries:
            hasher = self._heads[-1].copy() if self._heads else hashlib.sha256(_DOMAIN)
            known = len(self._heads)
            self._update(hasher, self._dictionaries[known - 1] if known else self._schema_message)
            self._heads.append(hasher)
        return self._heads[num_dictionaries]

    def _read_schema(self, found: Sequence[Message]) -> tuple[Message, pa.Schema]:
        if not found or found[0].kind != SCHEMA:
            raise CorruptArrow("it does not begin with a schema")
        stream = pa.PythonFile(_Spliced(self._file, found[:1]), mode="r")
        try:
            schema = pa.ipc.open_stream(stream).schema
        except (pa.ArrowException, OSError) as error:
            raise CorruptArrow(f"its schema: {type(error).__name__}") from None
        return found[0], schema

    def _update(self, hasher: hashlib._Hash, message: Message) -> None:
        length = message.length
        hasher.update(length.to_bytes(8, "little"))
        self._file.seek(message.start)
        while length > 0 and (block := self._file.read(min(_READ_BYTES, length))):
            hasher.update(block)
            length -= len(block)


class _Spliced(io.RawIOBase):
    """Messages of a file as one stream."""

    def __init__(self, file: pa.NativeFile, found: Sequence[Message]) -> None:
        self._file = file
        self._ranges = [(message.start, message.length) for message in found]

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Bytes until so many, or until the end."""
        parts = []
        while self._ranges and size != 0:
            start, length = self._ranges.pop(0)
            taken = length if size < 0 else min(size, length)
            self._file.seek(start)
            parts.append(self._file.read(taken))
            if len(parts[-1]) < taken:
                break
            size -= taken if size > 0 else 0
            if taken < length:
                self._ranges.insert(0, (start + taken, length - taken))
        return parts[0] if len(parts) == 1 else b"".join(parts)
