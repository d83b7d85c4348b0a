"""The long lists of a version: decisions, quarantine, partitions, with places in the sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flows.build.ordered import SLICE_ROWS, in_order
from flows.build.plan import BuildPlan, PlannedPartition
from flows.build.prepare import KIND, PreparedPartition
from flows.build.resolve import ResolvedBuild
from flows.build.staged import staged, staged_table
from pipelines.decisions import DECISIONS
from pipelines.dedup.verdicts import decision_order
from pipelines.personal.act import SAMPLE_PER_KIND
from pipelines.personal.sample import merge_samples
from pipelines.schema import DOCUMENTS, QUARANTINE, TOLD
from storage_tiers.stage import StageStore

_PLACE = [
    pa.field("source", pa.string()),
    pa.field("path", pa.string()),
    pa.field("offset", pa.int64()),
]
_OWN = ("partition", "row", "source")
# DECISIONS with the place in the source in words: null for a removed document.
PLACED_DECISIONS = pa.schema([*(field for field in DECISIONS if field.name not in _OWN), *_PLACE])
PLACED_QUARANTINE = pa.schema(
    [*_PLACE, *(field for field in QUARANTINE if field.name not in ("file", "offset"))]
)
PARTITIONS = pa.schema(
    [
        pa.field("key", pa.binary(32), nullable=False),
        pa.field("content", pa.binary(32), nullable=False),
        pa.field("source", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),  # of the first file
        pa.field("start", pa.int64(), nullable=False),
        pa.field("num_files", pa.int64(), nullable=False),
        pa.field("num_bytes", pa.int64(), nullable=False),
    ]
)


def placed_records(
    stage: StageStore, plan: BuildPlan, resolved: ResolvedBuild, slice_rows: int = SLICE_ROWS
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """The decisions and the signals, in their order, in tables of about `slice_rows` rows.

    Decisions are `PLACED_DECISIONS`. Beside each stands what was measured of the document:
    ``document_id``, what the source tells, and the signals; all but the first are null for
    a removed document, and not there where nothing is decided on the input.
    """
    resolution, told = resolved.resolution, pa.schema([])
    if resolution.num_decisions > resolution.removed.num_rows:
        names = [*TOLD, "num_chars", "num_bytes"]
        own = [DOCUMENTS.field(name) for name in names]
        told = pa.schema(
            [item.with_nullable(True) for item in (*own, *resolved.documents.signals())]
        )
    pieces = _placed(plan, resolved, told)
    rows = resolution.num_decisions
    ordered = in_order(stage, pieces, rows, "document_id", decision_order, slice_rows)
    width = len(PLACED_DECISIONS)
    measured = pa.schema([PLACED_DECISIONS.field("document_id"), *told])
    for table in chain(ordered, () if rows else (_beside(told).empty_table(),)):
        columns = table.columns
        yield (
            pa.table(columns[:width], schema=PLACED_DECISIONS),
            pa.table([table["document_id"], *columns[width:]], schema=measured),
        )


def _placed(plan: BuildPlan, resolved: ResolvedBuild, told: pa.Schema) -> Iterator[pa.Table]:
    """Decisions with places, and beside them what is told of their documents."""
    places, schema = _Places(plan), _beside(told)
    for decisions, read in resolved.resolution.decisions([*told.names, "file", "offset"]):
        decisions = resolved.documents.named(decisions)
        kept, rows = decisions.drop_columns(list(_OWN)).columns, decisions.num_rows
        if read is None:
            where = [pa.nulls(rows, item.type) for item in (*_PLACE, *told)]
        else:
            partition = decisions["partition"].to_numpy()
            where = places.of(partition, read["file"], read["offset"])
            where += [read[name] for name in told.names]
        yield pa.table([*kept, *where], schema=schema)


def _beside(told: pa.Schema) -> pa.Schema:
    """Decisions and signals side by side: they have columns of one name."""
    renamed = [item.with_name(f"told {item.name}") for item in told]
    return pa.schema([*PLACED_DECISIONS, *renamed])


def placed_quarantine(
    stage: StageStore,
    plan: BuildPlan,
    prepared: Sequence[PreparedPartition],
    fresh: frozenset[int],
) -> Iterator[pa.Table]:
    """The quarantine of the partitions that are new to the dataset, as `PLACED_QUARANTINE`.

    Partition by partition: a quarantined record has up to 64 KiB.
    """
    yield PLACED_QUARANTINE.empty_table()
    places = _Places(plan)
    for item in sorted(prepared, key=lambda item: item.ordinal):
        if item.ordinal in fresh:
            entry = staged(stage, KIND, plan.partitions[item.ordinal].stage_key)
            yield _placed_rows(places, item.ordinal, staged_table(entry, "quarantine"))


def placed_findings(stage: StageStore, plan: BuildPlan, fresh: frozenset[int]) -> pa.Table:
    """A masked sample of what was found in the partitions that are new to the dataset."""
    parts = [
        staged_table(staged(stage, KIND, item.stage_key), "findings")
        for item in plan.partitions
        if item.ordinal in fresh
    ]
    return merge_samples(parts, SAMPLE_PER_KIND)


def partition_table(partitions: Sequence[PlannedPartition]) -> pa.Table:
    """The partitions of a build as `PARTITIONS`, by key."""
    rows = [
        {
            "key": item.key.raw,
            "content": item.partition.content.raw,
            "source": item.partition.source,
            "path": item.partition.files[0].shown,
            "start": item.partition.files[0].start,
            "num_files": len(item.partition.files),
            "num_bytes": item.partition.num_bytes,
        }
        for item in partitions
    ]
    table = pa.Table.from_pylist(rows, schema=PARTITIONS)
    return table.sort_by([("key", "ascending"), ("path", "ascending"), ("start", "ascending")])


def _placed_rows(places: _Places, ordinal: int, rows: pa.Table) -> pa.Table:
    where = places.of(np.full(rows.num_rows, ordinal), rows["file"], rows["offset"])
    kept = rows.drop_columns(["file", "offset"])
    return pa.table([*where, *kept.columns], schema=PLACED_QUARANTINE)


class _Places:
    """Where records lie, in words: source names, paths and offsets."""

    def __init__(self, plan: BuildPlan) -> None:
        places = [
            (item.partition.source, file.shown, file.offset_base)
            for item in plan.partitions
            for file in item.partition.files
        ]
        columns = zip(*places, strict=True) if places else [()] * len(_PLACE)
        self._columns = [
            pa.array(column, item.type) for item, column in zip(_PLACE, columns, strict=True)
        ]
        sizes = [len(item.partition.files) for item in plan.partitions]
        self._starts = np.cumsum([0, *sizes])

    def of(
        self, partition: np.ndarray, files: pa.ChunkedArray, offsets: pa.ChunkedArray
    ) -> list[pa.Array]:
        """The columns `_PLACE` of some rows, by ordinal of the partition and of its file."""
        wanted = pa.array(self._starts[partition] + files.to_numpy())
        sources, paths, bases = (column.take(wanted) for column in self._columns)
        return [sources, paths, pc.add(offsets, bases)]
