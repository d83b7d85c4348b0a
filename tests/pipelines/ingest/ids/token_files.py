"""Writes small tokenized corpora, byte by byte as their formats are described."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

Documents = Sequence[Sequence[int]]


def mds(
    documents: Documents, dtype: str, encoding: str = "bytes", others: Sequence[bytes] = ()
) -> bytes:
    """A shard with a column `tokens`, and columns `x0`, `x1` ... of other bytes before it."""
    names = [*(f"x{n}" for n in range(len(others))), "tokens"]
    about = {
        "column_encodings": [*("pkl" for _ in others), encoding],
        "column_names": names,
        "column_sizes": [None] * len(names),
        "format": "mds",
        "version": 2,
    }
    told = json.dumps(about, sort_keys=True).encode()
    samples = []
    for document in documents:
        values = [*others, _value(np.array(document, dtype), encoding)]
        sizes = struct.pack(f"<{len(values)}I", *map(len, values))
        samples.append(sizes + b"".join(values))
    first = 4 + 4 * (len(samples) + 1) + len(told)
    ends = np.cumsum([first, *map(len, samples)]).astype("<u4")
    return struct.pack("<I", len(samples)) + ends.tobytes() + told + b"".join(samples)


def _value(ids: np.ndarray[Any, Any], encoding: str) -> bytes:
    number = {"uint16": 16, "int32": 33, "uint32": 32, "int64": 65}
    shape = bytes([1 << 2 | 1]) + struct.pack("<H", len(ids))
    if encoding == "ndarray":
        return bytes([number[ids.dtype.name]]) + shape + ids.tobytes()
    if encoding.startswith("ndarray:") and encoding.count(":") == 1:
        return shape + ids.tobytes()
    return ids.tobytes()


def megatron(documents: Documents, dtype: str, parts: int = 1) -> tuple[bytes, bytes]:
    """An index and its ids; each document is so many sequences, as even as they get."""
    kinds = {"uint8": 1, "int32": 4, "int64": 5, "uint16": 8}
    pieces = [np.array_split(np.array(document, dtype), parts) for document in documents]
    sequences = [piece for document in pieces for piece in document]
    lengths = np.array([len(piece) for piece in sequences], "<i4")
    places = np.cumsum([0, *(piece.nbytes for piece in sequences)])[:-1].astype("<i8")
    firsts = (np.arange(len(documents) + 1) * parts).astype("<i8")
    head = b"MMIDIDX\0\0" + struct.pack(
        "<QBQQ", 1, kinds[dtype], len(sequences), len(documents) + 1
    )
    ids = b"".join(piece.tobytes() for piece in sequences)
    return head + lengths.tobytes() + places.tobytes() + firsts.tobytes(), ids


def array(documents: Documents, dtype: str, *, header: bool) -> bytes:
    """All documents in a row."""
    ids = np.array([number for document in documents for number in document], dtype)
    if not header:
        return ids.tobytes()
    file = io.BytesIO()
    np.save(file, ids, allow_pickle=False)
    return file.getvalue()
