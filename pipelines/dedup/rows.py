"""Rows that lie elsewhere and are read in pieces, so that no input has to fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lineage.errors import IntegrityError
from pipelines.dedup.columns import INPUT, PUBLISHED
from pipelines.dedup.order import Ints, Mask

_PIECE_ROWS = 1 << 16


class Rows(Protocol):
    """A long table. Its rows are numbered from 0 and never change; it is read many times."""

    def __len__(self) -> int:
        """How many rows there are."""

    def read(
        self, columns: Sequence[str], wanted: Mask | None = None
    ) -> Iterator[tuple[Ints, pa.Table]]:
        """Reads some columns, piece by piece, in the order of the rows.

        Args:
            columns: their names, at least one.
            wanted: which rows, one flag a row; all of them without it.

        Returns:
            The numbers of some rows, ascending and one at least, and the columns of these.
        """


class TableRows:
    """Rows of a table in memory: a sample, or a small version."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    @classmethod
    def of_input(cls, table: pa.Table) -> TableRows:
        """The documents of an input, with the columns of `INPUT`, in any order.

        Raises:
            IntegrityError: a column is missing or of another type, a value is null where
                none may be, or a row of a partition occurs twice.
        """
        return cls(_in_order(_conforming(table, INPUT, "documents")))

    @classmethod
    def of_published(cls, table: pa.Table) -> TableRows:
        """The documents of a version, with the columns of `PUBLISHED`.

        Raises:
            IntegrityError: a column is missing or of another type, or a null in it.
        """
        return cls(_conforming(table, PUBLISHED, "published"))

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def read(
        self, columns: Sequence[str], wanted: Mask | None = None
    ) -> Iterator[tuple[Ints, pa.Table]]:
        """As `Rows.read`."""
        numbers = np.arange(len(self)) if wanted is None else np.flatnonzero(wanted)
        table = self._table.select(list(columns))
        for start in range(0, len(numbers), _PIECE_ROWS):
            piece = numbers[start : start + _PIECE_ROWS]
            yield piece, table.take(pa.array(piece))


def gathered(rows: Rows, numbers: Ints, columns: Sequence[str]) -> pa.Table:
    """Some columns of some rows at once.

    Args:
        numbers: which rows, ascending; at least one where the columns' types matter.
    """
    wanted = np.zeros(len(rows), np.bool_)
    wanted[numbers] = True
    pieces = [piece for _, piece in rows.read(columns, wanted)]
    return pa.concat_tables(pieces).combine_chunks() if pieces else _nothing(columns)


def _nothing(columns: Sequence[str]) -> pa.Table:
    return pa.schema([_KNOWN[name] for name in columns]).empty_table()


_KNOWN = {item.name: item for item in (*PUBLISHED, *INPUT)}


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
