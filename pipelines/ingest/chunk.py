"""A chunk: some records of a partition as they were read, and those that were not."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, repeat
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lineage.ids import CONTENT, OWN, IdHasher, RecordKey, shuffle_keys
from pipelines.schema import QUARANTINE, RECORDS

CHUNK_BYTES = 16 << 20
HEAD_BYTES = 64 << 10
# Ids and offsets cost memory too: a million short lines do not fit a chunk's bytes.
_MAX_ROWS = 1 << 16

# The reasons why a record is not read. Documented in docs/formats.md section 7.
REASONS = frozenset(
    {
        "blank_line",
        "invalid_utf8",
        "invalid_json",
        "not_an_object",
        "text_missing",
        "text_null",
        "text_not_a_string",
        "text_too_long",
        "id_missing",
        "id_not_a_string",
        "lone_surrogate",
        "nul_character",
        "line_too_long",
        "truncated_stream",
        "corrupt_stream",
        "empty_file",
        "corrupt_file",
        "nested_archive",
        "encrypted_member",
        "unreadable_member",
        "corrupt_archive",
        "unknown_encoding",
        "wrong_number_of_fields",
        "unclosed_quote",
        "invalid_row",
        "nested_too_deep",
        "page_too_complex",
        "malformed_record",
        "no_page",
        "token_out_of_range",
    }
)

# Reasons that are no loss: records of a kind that is no document.
PASSED_OVER = frozenset({"no_page"})


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive records of one partition.

    Attributes:
        records: schema RECORDS, in the order of the partition.
        quarantine: schema QUARANTINE, likewise.
    """

    records: pa.Table
    quarantine: pa.Table


class Place(NamedTuple):
    """Where a record lies.

    Attributes:
        file: ordinal among the partition's files.
        offset: bytes (Parquet: rows) from the start of the partition's range in it.
        num_bytes: length as it lies there.
    """

    file: int
    offset: int
    num_bytes: int


class Told(NamedTuple):
    """What a source tells of a record besides its text; None where it tells nothing.

    Attributes:
        url: where the document was found.
        licence: the record's own word on its licence, as it stands there.
        encoding: the encoding its bytes were read in, None for UTF-8.
    """

    url: str | None = None
    licence: str | None = None
    encoding: str | None = None


_NOTHING_TOLD = Told()


@dataclass(frozen=True, slots=True)
class Rows:
    """Records of one file of columns, as arrays.

    Attributes:
        file: ordinal among the partition's files.
        offsets: int64, the place of each row in the file.
        bounds: int64, one more than rows: where in `texts` each text starts and ends.
        texts: UTF-8 of all rows.
        own_ids: UTF-8 of each row's own id, or None where the spec names no field for it.
        urls, licences: as `Told`; None where the spec names no field for it.
    """

    file: int
    offsets: NDArray[np.int64]
    bounds: NDArray[np.int64]
    texts: memoryview
    own_ids: Sequence[bytes] | None
    urls: Sequence[str | None] | None
    licences: Sequence[str | None] | None


class ChunkBuilder:
    """Gathers records and refusals, and gives them out as chunks.

    Args:
        source: name of the source, part of every id.
        seed: the spec's seed.
        chunk_bytes: bytes of text after which a chunk is full.
    """

    def __init__(self, source: str, seed: int, hasher: IdHasher, chunk_bytes: int) -> None:
        self._source, self._seed, self._hasher = source, seed, hasher
        self._chunk_bytes = chunk_bytes
        self._start()

    @property
    def full(self) -> bool:
        """True when the chunk should be taken before more is added."""
        return self._num_bytes >= self._chunk_bytes or self._num_rows >= _MAX_ROWS

    @property
    def empty(self) -> bool:
        """True when nothing was added since the last chunk."""
        return self._num_rows == 0

    def record(
        self,
        text: bytes,
        record_id: str | None,
        place: Place,
        told: Told = _NOTHING_TOLD,
        raw: bytes | None = None,
    ) -> None:
        """Adds a record that was read.

        Args:
            text: UTF-8.
            record_id: the record's own id, where the spec names a field for it.
            raw: the content as it lies in the source, which the ids are made from, where
                it is not the text itself: a page of HTML, text in another encoding.
        """
        content = text if raw is None else raw
        content_key = hashlib.sha256(content).digest()
        self._content_keys.append(content_key)
        self._keys.append(
            RecordKey(CONTENT, content_key) if record_id is None else RecordKey.own(record_id)
        )
        raw_id = self._hasher.content_id(content)
        self._raw_ids.append(raw_id)
        self._content_ids.append(raw_id if raw is None else self._hasher.content_id(text))
        self._told.append(told)
        self._places.append(place)
        self._texts.append(text)
        self._lengths.append(len(text))
        self._count(len(text))

    def room(self, sizes: NDArray[np.int64]) -> int:
        """How many rows can be added until the chunk is full, 1 at least.

        Args:
            sizes: bytes of what each would add.
        """
        reached = np.searchsorted(np.cumsum(sizes), self._chunk_bytes - self._num_bytes)
        return max(min(int(reached) + 1, len(sizes), _MAX_ROWS - self._num_rows), 1)

    def rows(self, rows: Rows) -> None:
        """Adds records that were read, which `room` has found to fit."""
        num_rows, bounds = len(rows.offsets), rows.bounds.tolist()
        contents = [rows.texts[start:end] for start, end in pairwise(bounds)]
        content_keys = [hashlib.sha256(content).digest() for content in contents]
        kind, values = (CONTENT, content_keys) if rows.own_ids is None else (OWN, rows.own_ids)
        self._content_keys += content_keys
        self._keys += zip(repeat(kind), values)
        ids = self._hasher.content_ids(contents)
        self._raw_ids += ids
        self._content_ids += ids
        nothing = [None] * num_rows
        self._told += zip(rows.urls or nothing, rows.licences or nothing, nothing, strict=True)
        lengths = np.diff(rows.bounds).tolist()
        self._places += zip([rows.file] * num_rows, rows.offsets.tolist(), lengths, strict=True)
        # A copy: what the texts are a part of may be much larger.
        self._texts.append(bytes(rows.texts[bounds[0] : bounds[-1]]))
        self._lengths += lengths
        self._num_bytes += bounds[-1] - bounds[0]
        self._num_rows += num_rows

    def refuse(self, reason: str, detail: str, head: bytes, place: Place) -> None:
        """Adds a record that could not be read.

        Args:
            reason: one of `REASONS`.
            detail: what is wrong and where; never the text.
            head: the raw bytes; the first 64 KiB are kept.
        """
        self._refusals.append((place, reason, detail, bytes(head[:HEAD_BYTES])))
        self._count(min(len(head), HEAD_BYTES))

    def take(self) -> Chunk:
        """What was added since the last chunk; starts the next one."""
        chunk = Chunk(self._records(), self._quarantine())
        self._start()
        return chunk

    def _start(self) -> None:
        self._content_keys: list[bytes] = []
        self._keys: list[tuple[bytes, bytes]] = []
        self._raw_ids: list[bytes] = []
        self._content_ids: list[bytes] = []
        self._places: list[tuple[int, int, int]] = []
        self._told: list[tuple[str | None, str | None, str | None]] = []
        self._texts: list[bytes] = []
        self._lengths: list[int] = []
        self._refusals: list[tuple[Place, str, str, bytes]] = []
        self._num_bytes = 0
        self._num_rows = 0

    def _count(self, num_bytes: int) -> None:
        self._num_bytes += num_bytes
        self._num_rows += 1

    def _records(self) -> pa.Table:
        places = np.fromiter(chain.from_iterable(self._places), np.int64).reshape(-1, 3)
        columns = [
            ids_array(shuffle_keys(self._seed, self._source, self._keys)),
            ids_array(self._content_keys),
            ids_array(self._hasher.document_ids(self._source, self._keys)),
            ids_array(self._raw_ids),
            ids_array(self._content_ids),
            pa.array(places[:, 0].astype(np.int32)),
            pa.array(np.ascontiguousarray(places[:, 1])),
            pa.array(np.ascontiguousarray(places[:, 2])),
            *(pa.array([told[i] for told in self._told], pa.string()) for i in range(3)),
            _texts_of(self._texts, self._lengths),
        ]
        return pa.Table.from_arrays(columns, schema=RECORDS)

    def _quarantine(self) -> pa.Table:
        rows = [
            {
                "file": place.file,
                "offset": place.offset,
                "num_bytes": place.num_bytes,
                "reason": reason,
                "detail": detail,
                "record": head,
            }
            for place, reason, detail, head in self._refusals
        ]
        return pa.Table.from_pylist(rows, schema=QUARANTINE)


def ids_array(ids: list[bytes]) -> pa.FixedSizeBinaryArray:
    """Ids of 32 bytes as one Arrow array, without a null."""
    buffer = pa.py_buffer(b"".join(ids))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(32), len(ids), [None, buffer])


def texts_array(texts: list[bytes]) -> pa.LargeStringArray:
    """UTF-8 texts as one Arrow array, without a null."""
    return _texts_of(texts, map(len, texts))


def _texts_of(parts: list[bytes], lengths: Iterable[int]) -> pa.LargeStringArray:
    """Texts of so many bytes each, out of the bytes of all of them."""
    sizes = np.fromiter(lengths, dtype=np.int64)
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    buffers = pa.py_buffer(offsets), pa.py_buffer(b"".join(parts))
    return pa.LargeStringArray.from_buffers(len(sizes), *buffers)
