"""Packing (frozen, docs/formats.md section 6): the documents of a bucket become one shard.

The documents' tokens stand one after the other and are cut into samples of equal
length; the last sample is filled up. A piece is what one sample holds of one document.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lineage.errors import IntegrityError
from pipelines.shards.columns import FILL_SOURCE, SampleColumns, table_of
from pipelines.tokens.buffers import views_of

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Packed:
    """One packed bucket.

    Attributes:
        samples: a table of `pipelines.schema.shard_schema`, one row a sample.
        starts: int64, where each document starts, in tokens of the shard.
        lengths: int64, tokens of each document.
        num_fill: tokens of fill at the end of the last sample.
    """

    samples: pa.Table
    starts: Ints
    lengths: Ints
    num_fill: int


def pack_bucket(
    tokens: pa.LargeBinaryArray,
    sources: npt.NDArray[np.int32],
    *,
    sample_tokens: int,
    dtype: str,
    fill_id: int,
) -> Packed:
    """Packs documents in their final order; a bucket without documents gives no samples.

    Args:
        tokens: one value a document, little-endian ids of `dtype`, one id or more.
        sources: int32 of shape (n,), the source ordinal of each document, 0 to 65,534.
        sample_tokens: tokens of a sample, 2 or more.
        dtype: ``uint8``, ``uint16`` or ``uint32``.
        fill_id: the id that fills the last sample.

    Raises:
        IntegrityError: a document without tokens, or with half a token.
        ValueError: an argument out of range, or another number of sources than documents.
    """
    width = np.dtype(dtype).itemsize
    _verify(sources, len(tokens), sample_tokens, fill_id, width)
    offsets, data = views_of(tokens)
    ends = offsets - offsets[0]
    lengths = np.diff(ends) // width
    if len(lengths) and (np.any(ends % width) or lengths.min() < 1):
        row = int(np.flatnonzero((ends[1:] % width != 0) | (lengths < 1))[0])
        raise IntegrityError(f"document {row} of the bucket has no whole number of tokens")
    starts = ends[:-1] // width
    total = int(ends[-1]) // width
    num_samples = -(-total // sample_tokens)
    ids = np.full((num_samples, sample_tokens), fill_id, dtype)
    ids.reshape(-1)[:total].view(np.uint8)[:] = data[offsets[0] : offsets[-1]]
    samples = table_of(_columns(ids, starts, lengths, sources, total))
    return Packed(samples, starts, lengths, num_samples * sample_tokens - total)


def _verify(
    sources: npt.NDArray[np.int32], num_rows: int, sample_tokens: int, fill_id: int, width: int
) -> None:
    if sample_tokens < 2 or sample_tokens > 2**32 - 1:
        raise ValueError(f"a sample has 2 tokens or more, not {sample_tokens}")
    if not 0 <= fill_id < 1 << (8 * width):
        raise ValueError(f"fill id {fill_id} does not fit {width} bytes")
    if len(sources) != num_rows:
        raise ValueError(f"{len(sources)} sources for {num_rows} documents")
    if len(sources) and not (sources.min() >= 0 and sources.max() < FILL_SOURCE):
        raise ValueError("a source ordinal is not within 0 to 65,534")


def _columns(
    ids: npt.NDArray[np.unsignedinteger],
    starts: Ints,
    lengths: Ints,
    sources: npt.NDArray[np.int32],
    total: int,
) -> SampleColumns:
    num_samples, sample_tokens = ids.shape
    filled = total < num_samples * sample_tokens
    counts = _count_pieces(starts, lengths, sample_tokens, num_samples)
    counts[num_samples - 1 :] += filled
    pieces = np.zeros(num_samples + 1, np.int64)
    np.cumsum(counts, out=pieces[1:])
    boundaries = np.full(pieces[-1], sample_tokens, np.uint32)
    piece_sources = np.full(pieces[-1], FILL_SOURCE, np.uint16)
    _write_pieces(starts, lengths, sources, sample_tokens, boundaries, piece_sources)
    mask = np.zeros((num_samples, (sample_tokens + 7) // 8), np.uint8)
    masked = np.zeros(num_samples, np.bool_)
    if filled:
        counts_bits = np.arange(sample_tokens) < total - (num_samples - 1) * sample_tokens
        mask[-1] = np.packbits(counts_bits, bitorder="little")
        masked[-1] = True
    return SampleColumns(ids, boundaries, piece_sources, pieces.astype(np.int32), mask, masked)


@numba.njit(nogil=True, cache=True)
def _count_pieces(starts: Ints, lengths: Ints, sample_tokens: int, num_samples: int) -> Ints:
    counts = np.zeros(num_samples, np.int64)
    for document in range(len(starts)):
        first = starts[document] // sample_tokens
        last = (starts[document] + lengths[document] - 1) // sample_tokens
        for sample in range(first, last + 1):
            counts[sample] += 1
    return counts


@numba.njit(nogil=True, cache=True)
def _write_pieces(
    starts: Ints,
    lengths: Ints,
    sources: npt.NDArray[np.int32],
    sample_tokens: int,
    boundaries: npt.NDArray[np.uint32],
    piece_sources: npt.NDArray[np.uint16],
) -> None:
    # Pieces follow one another as documents do, so one counter numbers them all.
    piece = 0
    for document in range(len(starts)):
        end = starts[document] + lengths[document]
        sample_start = starts[document] // sample_tokens * sample_tokens
        while sample_start < end:
            boundaries[piece] = min(end - sample_start, sample_tokens)
            piece_sources[piece] = sources[document]
            piece += 1
            sample_start += sample_tokens
