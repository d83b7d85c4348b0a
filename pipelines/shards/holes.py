"""Holes (frozen, docs/formats.md section 6): a document leaves a shard and everything else stays.

Its tokens become fill that no loss counts. Lengths, boundaries, sources and counts stay,
so that the order of a run does not move.
"""

from __future__ import annotations

from dataclasses import replace

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lineage.errors import IntegrityError
from pipelines.schema import SPANS
from pipelines.shards.columns import columns_of, table_of

_ID_COLUMNS = ("document_id", "raw_content_id", "content_id")


def punch_holes(
    samples: pa.Table,
    spans: pa.Table,
    rows: npt.NDArray[np.int64],
    *,
    sample_tokens: int,
    dtype: str,
    fill_id: int,
) -> tuple[pa.Table, pa.Table]:
    """Makes holes of some documents of a shard; of a hole again the same hole.

    Args:
        samples: all samples of the shard.
        spans: all its spans (`pipelines.schema.SPANS`).
        rows: int64, the rows of `spans` that go.

    Returns:
        New samples and new spans; samples that held none of the documents are the same
        to the byte.

    Raises:
        IntegrityError: another schema, or a span that lies outside the shard.
        IndexError: `rows` names a span that does not exist.
        ValueError: `fill_id` does not fit `dtype`.
    """
    columns = columns_of(samples, sample_tokens, dtype)
    _verify(spans, rows, fill_id, np.dtype(dtype).itemsize)
    starts = spans.column("start").to_numpy()[rows]
    ends = starts + spans.column("num_tokens").to_numpy()[rows]
    if len(rows) and (starts.min() < 0 or np.any(ends < starts) or ends.max() > columns.ids.size):
        raise IntegrityError("a span lies outside its shard")
    ids, masked = columns.ids.copy(), columns.masked.copy()
    mask = np.where(masked[:, None], columns.mask, _all_count(sample_tokens))
    _punch(ids, mask, masked, starts, ends, fill_id)
    punched = replace(columns, ids=ids, mask=mask, masked=masked)
    return table_of(punched), _nameless(spans, rows)


def _verify(spans: pa.Table, rows: npt.NDArray[np.int64], fill_id: int, width: int) -> None:
    if spans.schema.remove_metadata() != SPANS:
        raise IntegrityError("the spans of the shard have another schema")
    if len(rows) and (rows.min() < 0 or rows.max() >= spans.num_rows):
        raise IndexError(f"a row that is none of the {spans.num_rows} spans")
    if not 0 <= fill_id < 1 << (8 * width):
        raise ValueError(f"fill id {fill_id} does not fit {width} bytes")


def _all_count(sample_tokens: int) -> npt.NDArray[np.uint8]:
    return np.packbits(np.ones(sample_tokens, np.bool_), bitorder="little")


def _nameless(spans: pa.Table, rows: npt.NDArray[np.int64]) -> pa.Table:
    stays = np.ones(spans.num_rows, np.bool_)
    stays[rows] = False
    keep = pa.array(stays)
    for name in _ID_COLUMNS:
        index = spans.schema.get_field_index(name)
        nothing = pa.scalar(None, spans.schema.field(index).type)
        kept = pc.if_else(keep, spans.column(index), nothing)
        spans = spans.set_column(index, spans.schema.field(index), kept)
    return spans


@numba.njit(nogil=True, cache=True)
def _punch(
    ids: npt.NDArray[np.unsignedinteger],
    mask: npt.NDArray[np.uint8],
    masked: npt.NDArray[np.bool_],
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    fill_id: int,
) -> None:
    sample_tokens = ids.shape[1]
    for span in range(len(starts)):
        for position in range(starts[span], ends[span]):
            sample = position // sample_tokens
            token = position % sample_tokens
            ids[sample, token] = fill_id
            mask[sample, token >> 3] &= np.uint8(0xFF ^ (1 << (token & 7)))
            masked[sample] = True
