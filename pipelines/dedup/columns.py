"""The columns that resolving reads, as numpy arrays; checked once, at the border."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lineage.errors import IntegrityError
from lineage.tables import binary_matrix
from pipelines.dedup.order import Ids, Ints, Mask
from pipelines.schema import ID

# What resolving reads of each document of the whole current input; other columns may stand
# beside these. `row` is a row of the partition's DOCUMENTS.
INPUT = pa.schema(
    [
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("row", pa.int64(), nullable=False),
        pa.field("source", pa.int32(), nullable=False),
        pa.field("shuffle_key", ID, nullable=False),
        pa.field("content_key", ID, nullable=False),
        pa.field("document_id", ID, nullable=False),
        pa.field("raw_content_id", ID, nullable=False),
        pa.field("content_id", ID, nullable=False),
        pa.field("num_bytes", pa.int64(), nullable=False),
        pa.field("num_chars", pa.int64(), nullable=False),  # code points, cleaned
        pa.field("edits", pa.string(), nullable=False),
        pa.field("rule", pa.string()),
        pa.field("value", pa.int64()),
        pa.field("threshold", pa.int64()),
    ]
)

# What resolving reads of each document that is alive in the parent version. `span` is the
# row of the shard's SPANS; `num_tokens` counts the end token.
PUBLISHED = pa.schema(
    [
        pa.field("document_id", ID, nullable=False),
        pa.field("raw_content_id", ID, nullable=False),
        pa.field("content_id", ID, nullable=False),
        pa.field("segment", pa.int32(), nullable=False),
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("span", pa.int64(), nullable=False),
        pa.field("num_tokens", pa.int64(), nullable=False),
    ]
)

Words = tuple[pa.Array, npt.NDArray[np.int32]]


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of the input, sorted by (partition, row).

    Attributes:
        table: the rows, with the columns of `INPUT`.
        rule: a word of `rules` a row, -1 where no rule of cleaning dropped it.
    """

    table: pa.Table
    partition: Ints
    row: Ints
    shuffle_key: Ids
    content_key: Ids
    document_id: Ids
    raw_content_id: Ids
    content_id: Ids
    rule: npt.NDArray[np.int32]
    rules: pa.Array

    @classmethod
    def of(cls, table: pa.Table) -> Documents:
        """Takes the columns of `INPUT` out of a table, in any order of rows.

        Raises:
            IntegrityError: a column is missing or of another type, a value is null where
                none may be, or a row of a partition occurs twice.
        """
        rows = _in_order(_conforming(table, INPUT, "documents"))
        rules, rule = words_of(rows["rule"])
        return cls(
            rows,
            partition=rows["partition"].to_numpy().astype(np.int64),
            row=rows["row"].to_numpy(),
            shuffle_key=binary_matrix(rows["shuffle_key"]),
            content_key=binary_matrix(rows["content_key"]),
            document_id=binary_matrix(rows["document_id"]),
            raw_content_id=binary_matrix(rows["raw_content_id"]),
            content_id=binary_matrix(rows["content_id"]),
            rule=rule,
            rules=rules,
        )

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True, slots=True)
class Published:
    """The documents that are alive in the parent version, with the columns of `PUBLISHED`."""

    table: pa.Table
    document_id: Ids
    raw_content_id: Ids
    content_id: Ids

    @classmethod
    def of(cls, table: pa.Table) -> Published:
        """Takes the columns of `PUBLISHED` out of a table.

        Raises:
            IntegrityError: a column is missing or of another type, or a null in it.
        """
        rows = _conforming(table, PUBLISHED, "published")
        names = ("document_id", "raw_content_id", "content_id")
        return cls(rows, *(binary_matrix(rows[name]) for name in names))

    def __len__(self) -> int:
        return len(self.document_id)


def words_of(column: pa.ChunkedArray) -> Words:
    """Splits a column of few words into the words and their numbers; null is -1."""
    whole = column.dictionary_encode().unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else _no_words()
    numbers = pc.fill_null(whole.indices, -1)
    return whole.dictionary, np.asarray(numbers).astype(np.int32)


def column_of_words(words: pa.Array, numbers: npt.NDArray[np.int32]) -> pa.Array:
    """Puts words and their numbers together again; -1 gives null."""
    indices = pa.array(numbers, mask=numbers < 0)
    return pa.DictionaryArray.from_arrays(indices, words).cast(pa.string())


def id_column(ids: Ids, valid: Mask | None = None) -> pa.Array:
    """An Arrow column of ids; null where not valid."""
    data = pa.py_buffer(np.ascontiguousarray(ids))
    bits = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(ID, len(ids), [bits, data])


def _conforming(table: pa.Table, schema: pa.Schema, what: str) -> pa.Table:
    missing = [name for name in schema.names if name not in table.column_names]
    if missing:
        raise IntegrityError(f"the table of {what} lacks the columns {', '.join(missing)}")
    for item in schema:
        if not item.nullable and table[item.name].null_count:
            raise IntegrityError(f"the table of {what} has a null in {item.name}")
    try:
        return table.select(schema.names).cast(schema).combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise IntegrityError(f"the table of {what} has a column of another type") from None


def _in_order(rows: pa.Table) -> pa.Table:
    partition, row = rows["partition"].to_numpy(), rows["row"].to_numpy()
    if not _ascending(partition, row):
        order = np.lexsort((row, partition))
        rows = rows.take(pa.array(order))
        if not _ascending(partition[order], row[order]):
            raise IntegrityError("a row of a partition occurs twice in the table of documents")
    return rows


def _ascending(partition: npt.NDArray[Any], row: npt.NDArray[Any]) -> bool:
    later = partition[1:] > partition[:-1]
    return bool((later | ((partition[1:] == partition[:-1]) & (row[1:] > row[:-1]))).all())


def _no_words() -> pa.DictionaryArray:
    return pa.array([], pa.dictionary(pa.int32(), pa.string()))
