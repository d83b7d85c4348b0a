"""Leaf hashes of samples (frozen, docs/formats.md section 6): what a content root is made of.

A leaf hash is SHA-256 of 0x00 and the leaf's data, as in RFC 6962. The data are, each
number u32 little-endian: the number of tokens, the ids, the number of boundaries, the
boundaries, the number of bytes of the loss mask, the loss mask. A sample without a loss
mask has one of 0 bytes. The width in which ids are stored does not matter.
"""

from __future__ import annotations

import hashlib

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipelines.shards.columns import SampleColumns, columns_of

# The leaves of a block are laid out side by side: so many bytes stay in a core's cache.
_BLOCK_BYTES = 512 << 10


def leaf_hashes(samples: pa.Table, sample_tokens: int, dtype: str) -> npt.NDArray[np.uint8]:
    """The leaf hash of each sample.

    Returns:
        uint8 of shape (num_samples, 32).

    Raises:
        IntegrityError: a table of another schema.
    """
    columns = columns_of(samples, sample_tokens, dtype)
    num_samples = len(columns.ids)
    block = max(1, _BLOCK_BYTES // (4 * sample_tokens))
    # The words after the ids: two counts, the mask and as many boundaries as any has.
    most = int(np.diff(columns.pieces).max(initial=0))
    words = np.empty((block, 4 + sample_tokens + most + (columns.mask.shape[1] + 3) // 4), "<u4")
    ends = np.empty(block, np.int64)
    hashes = bytearray()
    for first in range(0, num_samples, block):
        last = min(first + block, num_samples)
        _lay_out(*_parts(columns, first, last), words, ends)
        hashes += _hashed(words, ends, last - first)
    return np.frombuffer(hashes, np.uint8).reshape(num_samples, 32)


def _parts(
    columns: SampleColumns, first: int, last: int
) -> tuple[
    npt.NDArray[np.unsignedinteger],
    npt.NDArray[np.uint32],
    npt.NDArray[np.int32],
    npt.NDArray[np.uint8],
    npt.NDArray[np.bool_],
]:
    return (
        columns.ids[first:last],
        columns.boundaries,
        columns.pieces[first : last + 1],
        columns.mask[first:last],
        columns.masked[first:last],
    )


def _hashed(words: npt.NDArray[np.uint32], ends: npt.NDArray[np.int64], count: int) -> bytes:
    data = words.view(np.uint8).reshape(-1).data
    stride = words.shape[1] * 4
    sha256 = hashlib.sha256
    # Each leaf starts at the fourth byte of its row: the 0x00 before its data.
    return b"".join(
        sha256(data[row * stride + 3 : row * stride + end]).digest()
        for row, end in enumerate(ends[:count].tolist())
    )


@numba.njit(nogil=True, cache=True)
def _lay_out(
    ids: npt.NDArray[np.unsignedinteger],
    boundaries: npt.NDArray[np.uint32],
    pieces: npt.NDArray[np.int32],
    mask: npt.NDArray[np.uint8],
    masked: npt.NDArray[np.bool_],
    words: npt.NDArray[np.uint32],
    ends: npt.NDArray[np.int64],
) -> None:
    num_tokens = ids.shape[1]
    for row in range(ids.shape[0]):
        line = words[row]
        line[0] = 0
        line[1] = num_tokens
        for token in range(num_tokens):
            line[2 + token] = ids[row, token]
        at = 2 + num_tokens
        line[at] = pieces[row + 1] - pieces[row]
        at += 1
        for piece in range(pieces[row], pieces[row + 1]):
            line[at] = boundaries[piece]
            at += 1
        num_mask = mask.shape[1] if masked[row] else 0
        line[at] = num_mask
        at += 1
        tail = line.view(np.uint8)
        for byte in range(num_mask):
            tail[at * 4 + byte] = mask[row, byte]
        ends[row] = at * 4 + num_mask
