"""The columns that resolving reads, and columns of few words as numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.dedup.order import Ids, Mask
from pipelines.schema import ID

# What resolving reads of each document of the whole current input, in the order of
# (partition, row); other columns may stand beside these. `row` is one of the partition's
# DOCUMENTS.
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


def _no_words() -> pa.DictionaryArray:
    return pa.array([], pa.dictionary(pa.int32(), pa.string()))
