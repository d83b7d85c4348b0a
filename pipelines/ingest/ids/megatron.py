r"""Megatron-LM's indexed datasets: ids in `NAME.bin`, documents in `NAME.idx`.

The index: `MMIDIDX\0\0`, `u64` version 1, a byte for the type of ids, `u64` sequences,
`u64` documents + 1, then `i32` lengths of sequences, `i64` places of them in bytes, and
`i64` the sequence that each document begins with, and the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pipelines.ingest.chunk import Chunk, ChunkBuilder, Place
from pipelines.ingest.ids.token_ids import MAX_DOCUMENT_BYTES, add_document
from pipelines.ingest.places.window import Window

_MAGIC = b"MMIDIDX\0\0"
_HEAD_BYTES = len(_MAGIC) + 8 + 1 + 8 + 8
_KINDS = {1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 8: "uint16"}


class _NoIndex(Exception):
    """Why bytes are no index; never reaches a user."""


@dataclass(frozen=True, slots=True)
class _Index:
    """Documents as they follow each other in the file of ids.

    Attributes:
        dtype: of ids.
        sizes: of documents, in bytes.
    """

    dtype: str
    sizes: npt.NDArray[np.int64]


def read_megatron(
    index: bytes, ids: Iterable[bytes], num_bytes: int, builder: ChunkBuilder
) -> Iterator[Chunk]:
    """Reads a pair of files: the first and the second of their partition.

    Args:
        index: the whole `.idx`; 20 bytes a document, and as much again here.
        ids: the `.bin` in blocks.
        num_bytes: of it.
    """
    try:
        found = _index(index)
    except _NoIndex as error:
        builder.refuse("corrupt_file", str(error), b"", Place(0, 0, num_bytes))
    else:
        yield from _documents(Window(ids), found, builder)


def _documents(window: Window, index: _Index, builder: ChunkBuilder) -> Iterator[Chunk]:
    for number, size in enumerate(index.sizes.tolist()):
        place = Place(1, window.offset, size)
        if size > MAX_DOCUMENT_BYTES:
            builder.refuse("text_too_long", f"{size} bytes", b"", place)
            window.drop(size)
        elif window.fill(size) < size:
            detail = f"{len(index.sizes) - number} documents are missing or cut"
            held = window.drop(size)
            builder.refuse("truncated_stream", detail, b"", Place(1, place.offset, held))
            return
        else:
            add_document(builder, window.take(size), index.dtype, place)
        if builder.full:
            yield builder.take()
    start = window.offset
    if behind := window.drop(1 << 62):
        detail = f"{behind} bytes behind the last document"
        builder.refuse("corrupt_file", detail, b"", Place(1, start, behind))


def _index(data: bytes) -> _Index:
    if not data.startswith(_MAGIC) or len(data) < _HEAD_BYTES:
        raise _NoIndex("no index of Megatron")
    version, sequences, bounds = (int.from_bytes(data[at : at + 8], "little") for at in (9, 18, 26))
    kind = _KINDS.get(data[17])
    if version != 1 or kind is None:
        raise _NoIndex(f"version {version}, ids of type {data[17]}")
    if _HEAD_BYTES + 12 * sequences + 8 * bounds > len(data) or not bounds:
        raise _NoIndex(f"too short for {sequences} sequences")
    lengths = np.frombuffer(data, "<i4", sequences, _HEAD_BYTES).astype(np.int64)
    places = np.frombuffer(data, "<i8", sequences, _HEAD_BYTES + 4 * sequences)
    firsts = np.frombuffer(data, "<i8", bounds, _HEAD_BYTES + 12 * sequences)
    ends = np.concatenate([[0], np.cumsum(lengths * np.dtype(kind).itemsize)])
    if (lengths < 0).any() or (places != ends[:-1]).any():
        raise _NoIndex("sequences that do not follow each other")
    if firsts[0] != 0 or firsts[-1] != sequences or (np.diff(firsts) < 0).any():
        raise _NoIndex("documents that do not follow each other")
    return _Index(kind, np.diff(ends[firsts]))
