"""The documents of the input as they lie in the stage store, without their texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flows.build.elsewhere import KEYS, Elsewhere
from flows.build.plan import BuildPlan
from flows.build.prepare import KIND, PreparedPartition
from flows.build.staged import staged
from lineage.errors import IntegrityError
from lineage.keys.sealing import open_parquet
from pipelines.dedup.order import Ints, Mask
from pipelines.rules.decide import decide, signals_read
from pipelines.rules.rule import AnyRule
from pipelines.schema import DOCUMENTS
from storage_tiers.stage import StageEntry, StageStore

_PIECE_ROWS = 1 << 16
_JUDGED = ("rule", "value", "threshold")
_MADE = ("partition", "row", "source", *_JUDGED)


@dataclass(frozen=True, slots=True)
class _Columns:
    """Which columns are wanted, and which are read of which file for them."""

    wanted: tuple[str, ...]
    documents: list[str]
    signals: list[str]


class InputRows:
    """Every document of the input, by partition and row: `pipelines.dedup.rows.Rows`.

    Its columns are those of DOCUMENTS but the text, the signals, ``partition``, ``row`` and
    ``source``, and ``rule``, ``value`` and ``threshold`` of the rule that drops a document.
    Only row groups that hold a wanted row are read, one at a time.

    Args:
        prepared: of every partition, in any order.
        sources: the dataset's source ordinal of each source of the spec.
        elsewhere: what other datasets published, which is dropped too.
    """

    def __init__(
        self,
        stage: StageStore,
        plan: BuildPlan,
        prepared: Sequence[PreparedPartition],
        rules: Sequence[AnyRule],
        sources: Sequence[int],
        elsewhere: Elsewhere | None = None,
    ) -> None:
        self._stage = stage
        self._plan = plan
        self._rules = rules
        self._sources = sources
        self._elsewhere = elsewhere
        sizes = [item.num_documents for item in sorted(prepared, key=lambda item: item.ordinal)]
        self._starts = np.cumsum([0, *sizes])

    def named(self, decisions: pa.Table) -> pa.Table:
        """Decisions on some of them, with the survivors that are of other datasets."""
        return decisions if self._elsewhere is None else self._elsewhere.named(decisions)

    def __len__(self) -> int:
        return int(self._starts[-1])

    def numbers(self, partition: Ints, row: Ints) -> Ints:
        """The numbers of rows of partitions."""
        numbers: Ints = self._starts[partition] + row
        return numbers

    def in_partition(self, ordinal: int) -> slice:
        """The numbers of a partition's documents."""
        return slice(int(self._starts[ordinal]), int(self._starts[ordinal + 1]))

    def signals(self) -> pa.Schema:
        """What was measured of documents, beside what stands in DOCUMENTS."""
        for ordinal in range(len(self._plan.partitions)):
            entry = self._entry(ordinal)
            if "signals" in entry.receipt["seals"]:
                with open_parquet(entry.path("signals.parquet"), entry.seal("signals")) as file:
                    return file.schema_arrow
        return pa.schema([])

    def read(
        self, columns: Sequence[str], wanted: Mask | None = None
    ) -> Iterator[tuple[Ints, pa.Table]]:
        """As `pipelines.dedup.rows.Rows.read`.

        Raises:
            IntegrityError: a partition holds other rows than its receipt says.
            NotFound: somebody deleted a stage entry meanwhile.
        """
        named = self._columns(columns)
        for ordinal in range(len(self._starts) - 1):
            chosen = None if wanted is None else wanted[self.in_partition(ordinal)]
            if chosen is None or chosen.any():
                yield from self._partition(ordinal, named, chosen)

    def _columns(self, columns: Sequence[str]) -> _Columns:
        judged = signals_read(self._rules) if set(columns).intersection(_JUDGED) else ()
        published = KEYS if judged and self._elsewhere is not None else ()
        read = dict.fromkeys([*columns, *judged, *published])
        # Two columns that are always read, so that there is one.
        documents = dict.fromkeys(["num_chars", "num_bytes"])
        documents |= dict.fromkeys(name for name in read if name in DOCUMENTS.names)
        signals = [name for name in read if name not in (*DOCUMENTS.names, *_MADE)]
        return _Columns(tuple(columns), list(documents), signals)

    def _partition(
        self, ordinal: int, columns: _Columns, wanted: Mask | None
    ) -> Iterator[tuple[Ints, pa.Table]]:
        mine, at = self.in_partition(ordinal), 0
        with ExitStack() as stack:
            files = self._opened(ordinal, columns, stack)
            if (held := files[0][0].metadata.num_rows) != mine.stop - mine.start:
                raise IntegrityError(
                    f"partition {ordinal} holds {held} documents, "
                    f"and {mine.stop - mine.start} were counted",
                    "delete the stage store, then build again",
                )
            for group in range(files[0][0].num_row_groups):
                size = files[0][0].metadata.row_group(group).num_rows
                rows = np.arange(size) if wanted is None else np.flatnonzero(wanted[at : at + size])
                if len(rows):
                    tables = [file.read_row_group(group, names) for file, names in files]
                    for table in _pieces(tables, rows, at):
                        numbers = mine.start + table["row"].to_numpy()
                        yield numbers, self._told(ordinal, columns, table)
                at += size

    def _opened(
        self, ordinal: int, columns: _Columns, stack: ExitStack
    ) -> list[tuple[pq.ParquetFile, list[str]]]:
        """The files that are read, with their columns; their row groups are of equal rows."""
        entry = self._entry(ordinal)
        files = [("documents", columns.documents)]
        if columns.signals and "signals" in entry.receipt["seals"]:
            files.append(("signals", columns.signals))
        return [
            (stack.enter_context(open_parquet(entry.path(f"{name}.parquet"), entry.seal(name))), of)
            for name, of in files
        ]

    def _told(self, ordinal: int, columns: _Columns, table: pa.Table) -> pa.Table:
        """The wanted columns, those included that no file holds."""
        if set(columns.wanted).intersection(_JUDGED):
            for name, column in decide(table, self._rules).columns(self._rules).items():
                table = table.append_column(name, column)
            if self._elsewhere is not None:
                table = self._elsewhere.dropped(table)
        source = self._sources[self._plan.partitions[ordinal].source]
        for name, value in (("partition", ordinal), ("source", source)):
            column = pa.array(np.full(table.num_rows, value, np.int32))
            table = table.append_column(name, column)
        return table.select(list(columns.wanted))

    def _entry(self, ordinal: int) -> StageEntry:
        return staged(self._stage, KIND, self._plan.partitions[ordinal].stage_key)


def _pieces(tables: Sequence[pa.Table], rows: Ints, first: int) -> Iterator[pa.Table]:
    """Some rows of tables of equal length, side by side, with the column ``row``.

    Args:
        first: the row of the partition that the tables begin with.
    """
    whole = tables[0]
    for table in tables[1:]:
        for name in table.column_names:
            whole = whole.append_column(name, table[name])
    for start in range(0, len(rows), _PIECE_ROWS):
        some = rows[start : start + _PIECE_ROWS]
        every = len(some) == some[-1] + 1 - some[0]
        piece = whole.slice(some[0], len(some)) if every else whole.take(pa.array(some))
        yield piece.append_column("row", pa.array(first + some))
