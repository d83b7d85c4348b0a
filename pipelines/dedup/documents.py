"""What is held in memory of each document: numbers and flags, of the input and the parent.

A document of the input is known by its number, its row in `Rows`. Ids stay where they lie:
the leading bytes of two of them say which rows are to be compared in full, and only of
those rows the ids are read.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lineage.errors import IntegrityError
from lineage.tables import binary_matrix
from pipelines.books import Count, StageBook, book_clean
from pipelines.dedup.order import Ids, Ints, Mask, leading, row_type
from pipelines.dedup.rows import Rows

_Halves = npt.NDArray[np.uint64]
_SURVEYED = (
    "partition",
    "source",
    "document_id",
    "raw_content_id",
    "content_id",
    "num_bytes",
    "rule",
)


class Published:
    """The documents that are alive in the parent version: about 80 bytes each.

    Ids are held as their first 16 bytes. They are keyed hashes, which nobody who gives us
    texts can aim at, so that no two share so many by chance.

    Args:
        rows: with the columns of `PUBLISHED`.

    Raises:
        IntegrityError: a document is alive twice.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.num_tokens = np.zeros(len(rows), np.uint8)
        self._document, self._raw, self._content = (
            np.empty((len(rows), 2), np.uint64) for _ in range(3)
        )
        names = ("document_id", "raw_content_id", "content_id", "num_tokens")
        for numbers, piece in rows.read(names):
            self._document[numbers] = _halves(piece["document_id"])
            self._raw[numbers] = _halves(piece["raw_content_id"])
            self._content[numbers] = _halves(piece["content_id"])
            self.num_tokens = _put(self.num_tokens, numbers, piece["num_tokens"])
        order = np.lexsort((self._document[:, 1], self._document[:, 0]))
        self._order = order.astype(row_type(len(rows)))
        self._first = self._document[order, 0]
        ordered = self._document[order]
        if (ordered[1:] == ordered[:-1]).all(axis=1).any():
            raise IntegrityError("a document is alive twice in the parent version")

    def __len__(self) -> int:
        return len(self.rows)

    def find(self, document_id: pa.ChunkedArray) -> Ints:
        """The row of each document, or -1 where it is not alive."""
        wanted = _halves(document_id)
        found = np.full(len(wanted), -1, np.int64)
        at = np.searchsorted(self._first, wanted[:, 0])
        open_ = np.arange(len(wanted))
        while (open_ := open_[at[open_] < len(self)]).size:
            row = self._order[at[open_]]
            here = self._document[row]
            match = (here == wanted[open_]).all(axis=1)
            found[open_[match]] = row[match]
            # Another document with the same first half: the next place may hold this one.
            open_ = open_[~match & (here[:, 0] == wanted[open_, 0])]
            at[open_] += 1
        return found

    def same(self, rows: Ints, piece: pa.Table) -> tuple[Mask, Mask]:
        """Whether documents have the raw text, and the cleaned text, of these rows.

        Args:
            rows: one for each row of the piece; -1 has neither.
        """
        raw = self._agrees(self._raw, rows, piece["raw_content_id"])
        return raw, self._agrees(self._content, rows, piece["content_id"])

    def _agrees(self, held: _Halves, rows: Ints, column: pa.ChunkedArray) -> Mask:
        alive = np.flatnonzero(rows >= 0)
        agrees = np.zeros(len(rows), np.bool_)
        agrees[alive] = (held[rows[alive]] == _halves(column)[alive]).all(axis=1)
        return agrees


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of the input: about 16 bytes each.

    Attributes:
        rows: where they lie, with the columns of `INPUT`.
        starts: number of the first document of each partition that has one.
        passed: no rule of cleaning dropped it.
        published: the row of `Published` with the same document id, or -1.
        same_raw: it was published with the same raw text.
        same: with the same cleaned text too: nothing is to be written for it.
        source: ordinal.
        num_bytes: in the source.
        clean: the book of the stage clean.
    """

    rows: Rows
    starts: dict[int, int]
    passed: Mask
    published: npt.NDArray[Any]
    same_raw: Mask
    same: Mask
    source: npt.NDArray[Any]
    num_bytes: npt.NDArray[Any]
    clean: StageBook

    def __len__(self) -> int:
        return len(self.passed)

    def in_partitions(self, partitions: Collection[int]) -> Mask:
        """Which documents lie in these partitions."""
        chosen = np.array([number in partitions for number in self.starts], np.bool_)
        bounds = np.array([*self.starts.values(), len(self)], np.int64)
        return np.repeat(chosen, np.diff(bounds))


@dataclass(frozen=True, slots=True)
class Leading:
    """The first eight bytes of ids, a number a document: 16 bytes each, for a short while.

    Equal ids have equal numbers; the ids of rows that share one are to be compared in full.
    """

    document: npt.NDArray[np.uint64]
    content: npt.NDArray[np.uint64]


def survey(rows: Rows, published: Published) -> tuple[Documents, Leading]:
    """Reads the input once: what is held of it, and what exact duplicates are found by."""
    size = len(rows)
    passed, same_raw, same = np.zeros((3, size), np.bool_)
    at_published = np.empty(size, row_type(len(published)))
    source, num_bytes = np.zeros((2, size), np.uint8)
    keys = Leading(np.empty(size, np.uint64), np.empty(size, np.uint64))
    starts: dict[int, int] = {}
    clean = StageBook("clean", Count(), Count())
    for numbers, piece in rows.read(_SURVEYED):
        for ordinal, first in _firsts(piece["partition"]):
            starts.setdefault(ordinal, int(numbers[first]))
        passed[numbers] = piece["rule"].is_null()
        found = published.find(piece["document_id"])
        at_published[numbers] = found
        raw, content = published.same(found, piece)
        same_raw[numbers], same[numbers] = raw, raw & content
        source = _put(source, numbers, piece["source"])
        num_bytes = _put(num_bytes, numbers, piece["num_bytes"])
        keys.document[numbers] = leading(binary_matrix(piece["document_id"]))
        keys.content[numbers] = leading(binary_matrix(piece["content_id"]))
        clean = clean.add(book_clean(piece))
    held = (passed, at_published, same_raw, same, source, num_bytes, clean)
    return Documents(rows, starts, *held), keys


def _firsts(partition: pa.ChunkedArray) -> list[tuple[int, int]]:
    ordinals, firsts = np.unique(partition.to_numpy(), return_index=True)
    return list(zip(ordinals.tolist(), firsts.tolist(), strict=True))


def _put(held: npt.NDArray[Any], numbers: Ints, column: pa.ChunkedArray) -> npt.NDArray[Any]:
    """Puts counts into an array of the narrowest dtype that holds all so far; gives it."""
    values = column.to_numpy()
    wide = np.promote_types(held.dtype, np.min_scalar_type(int(values.max(initial=0))))
    held = held.astype(wide, copy=False)
    held[numbers] = values
    return held


def _halves(column: pa.ChunkedArray) -> _Halves:
    """The first 16 bytes of ids, shape (n, 2)."""
    ids: Ids = binary_matrix(column)
    return np.ascontiguousarray(ids[:, :16]).view(np.uint64)
