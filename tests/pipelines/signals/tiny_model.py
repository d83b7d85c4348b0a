"""A fastText classifier of a few words, written byte by byte as version 12 lays it out."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

Vector = tuple[float, float]
_SUPERVISED, _SOFTMAX = 3, 3


def tiny_model(
    words: Mapping[str, Vector], labels: Mapping[str, Vector], kind: int = _SUPERVISED
) -> bytes:
    """A model of two dimensions without n-grams.

    The vector of a text is the mean of those of its words, its end `</s>` included where
    that is a word; probabilities are the softmax of its products with those of the labels.
    """
    header = struct.pack("<ii", 793_712_314, 12)
    # dim, ws, epoch, minCount, neg, wordNgrams, loss, model, bucket, minn, maxn, rate, t
    arguments = struct.pack("<12id", 2, 5, 1, 1, 5, 1, _SOFTMAX, kind, 0, 0, 0, 100, 1e-4)
    size = len(words) + len(labels)
    dictionary = struct.pack("<iiiqq", size, len(words), len(labels), 100, -1)
    for mark, names in ((0, words), (1, labels)):
        for name in names:
            dictionary += name.encode() + b"\0" + struct.pack("<qb", 1, mark)
    matrices = _matrix(list(words.values())) + _matrix(list(labels.values()))
    return header + arguments + dictionary + matrices


def _matrix(rows: Sequence[Vector]) -> bytes:
    values = [value for row in rows for value in row]
    return b"\0" + struct.pack("<qq", len(rows), 2) + struct.pack(f"<{len(values)}f", *values)
