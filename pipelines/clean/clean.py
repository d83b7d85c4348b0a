"""Cleaning: the transforms that a spec names, over one table of records."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lineage.ids import IdHasher
from pipelines.clean import length, nfc
from pipelines.schema import DOCUMENTS
from pipelines.spec.dataset import CleanSpec
from pipelines.transform import Transform


def clean_transforms(spec: CleanSpec) -> tuple[Transform, ...]:
    """The transforms of a spec, in the order in which they are applied."""
    first = (nfc.nfc_transform(),) if spec.normalize == "NFC" else ()
    return (*first, length.length_transform(spec))


def clean_records(records: pa.Table, spec: CleanSpec, hasher: IdHasher) -> pa.Table:
    """Cleans records (schema RECORDS) into documents (schema DOCUMENTS), row by row.

    A dropped document keeps its row: with the rule, the value and the threshold that
    dropped it, and without its text.
    """
    records = records.combine_chunks()
    texts = _only_chunk(records.column("text"))
    changed, new_texts = np.zeros(0, dtype=np.int64), texts.slice(0, 0)
    if spec.normalize == "NFC":
        changed, new_texts = nfc.to_nfc(texts)
    cleaned = nfc.replaced(texts, changed, new_texts)
    verdict = length.judge_length(cleaned, spec)
    columns = {name: records.column(name) for name in records.column_names if name != "text"}
    columns["content_id"] = _content_ids(records, changed, new_texts, hasher)
    columns["num_chars"] = pa.array(verdict.num_chars)
    columns["edits"] = _edits(len(texts), changed)
    columns.update(_drops(verdict, spec))
    columns["text"] = _without(cleaned, verdict.too_short | verdict.too_long)
    return pa.Table.from_arrays([columns[name] for name in DOCUMENTS.names], schema=DOCUMENTS)


def _only_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)


def _content_ids(
    records: pa.Table, changed: NDArray[np.int64], new_texts: pa.LargeStringArray, hasher: IdHasher
) -> pa.Array:
    raw_ids = _only_chunk(records.column("raw_content_id"))
    ids = [hasher.content_id(text) for text in new_texts.cast(pa.large_binary()).to_pylist()]
    return nfc.replaced(raw_ids, changed, pa.array(ids, raw_ids.type))


def _edits(num_rows: int, changed: NDArray[np.int64]) -> pa.Array:
    edits = np.zeros(num_rows, dtype=np.int32)
    edits[changed] = 1
    names = pa.array(["", nfc.NAME])
    return names.take(pa.array(edits))


def _drops(verdict: length.LengthVerdict, spec: CleanSpec) -> dict[str, pa.Array]:
    short, long = verdict.too_short, verdict.too_long
    kept = ~(short | long)
    rules = pa.array([length.MIN_RULE, length.MAX_RULE])
    thresholds = np.where(short, spec.min_chars, spec.max_chars or 0)
    return {
        "rule": rules.take(pa.array(long.astype(np.int32), mask=kept)),
        "value": pa.array(verdict.num_chars, mask=kept),
        "threshold": pa.array(thresholds.astype(np.int64), mask=kept),
    }


def _without(texts: pa.LargeStringArray, dropped: NDArray[np.bool_]) -> pa.LargeStringArray:
    if not dropped.any():
        return texts
    return texts.take(pa.array(np.arange(len(texts)), mask=dropped))
