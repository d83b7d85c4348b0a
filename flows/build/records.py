"""The long lists of a version: decisions, quarantine, partitions, with places in the sources."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flows.build.plan import BuildPlan, PlannedPartition
from flows.build.prepare import KIND, PreparedPartition
from flows.build.resolve import ResolvedBuild, signals_of
from flows.build.staged import staged, staged_table
from lineage.digest import Digest
from pipelines.decisions import DECISIONS
from pipelines.personal.act import SAMPLE_PER_KIND
from pipelines.personal.sample import merge_samples
from pipelines.schema import QUARANTINE, TOLD
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


def placed_decisions(plan: BuildPlan, resolved: ResolvedBuild) -> pa.Table:
    """The decisions, each with source, path and byte offset, as `PLACED_DECISIONS`."""
    decisions = resolved.resolution.decisions
    partition = decisions["partition"].fill_null(-1).to_numpy()
    rows = decisions["row"].fill_null(0).to_numpy()
    sizes = np.bincount(resolved.documents["partition"].to_numpy(), minlength=len(plan.partitions))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    at = np.where(partition < 0, -1, starts[partition] + rows)
    wanted = pa.array(at, mask=at < 0)
    files = resolved.documents["file"].take(wanted).combine_chunks()
    offsets = resolved.documents["offset"].take(wanted).combine_chunks()
    kept = decisions.drop_columns(list(_OWN))
    places = _places(plan, partition, files, offsets)
    return pa.table([*kept.columns, *places], schema=PLACED_DECISIONS)


def placed_signals(stage: StageStore, plan: BuildPlan, resolved: ResolvedBuild) -> pa.Table:
    """What was measured of each document, a row for each decision, in their order.

    The columns are ``document_id``, what the source tells, and the signals; all but the
    first are null for a removed document.
    """
    decisions = resolved.resolution.decisions
    partition = decisions["partition"].fill_null(-1).to_numpy()
    rows = decisions["row"].fill_null(0).to_numpy()
    parts, order = [], np.full(len(rows), -1, np.int64)
    start = 0
    for ordinal in np.unique(partition[partition >= 0]).tolist():
        mine = np.flatnonzero(partition == ordinal)
        parts.append(_measured(stage, plan.partitions[ordinal].stage_key, rows[mine]))
        order[mine] = start + np.arange(len(mine))
        start += len(mine)
    if not parts:
        return decisions.select(["document_id"])
    wanted = pa.array(order, mask=order < 0)
    signals = pa.concat_tables(parts).take(wanted)
    signals = signals.cast(pa.schema([column.with_nullable(True) for column in signals.schema]))
    return signals.add_column(0, decisions.schema.field("document_id"), decisions["document_id"])


def _measured(stage: StageStore, key: Digest, rows: np.ndarray) -> pa.Table:
    entry = staged(stage, KIND, key)
    told = staged_table(entry, "documents", [*TOLD, "num_chars", "num_bytes"])
    signals = signals_of(entry, told)
    for name in reversed(TOLD):
        signals = signals.add_column(0, name, told[name])
    return signals.take(pa.array(rows))


def placed_quarantine(
    stage: StageStore,
    plan: BuildPlan,
    prepared: Sequence[PreparedPartition],
    fresh: frozenset[int],
) -> pa.Table:
    """The quarantine of the partitions that are new to the dataset, as `PLACED_QUARANTINE`."""
    tables = [PLACED_QUARANTINE.empty_table()]
    for item in sorted(prepared, key=lambda item: item.ordinal):
        if item.ordinal in fresh:
            entry = staged(stage, KIND, plan.partitions[item.ordinal].stage_key)
            rows = staged_table(entry, "quarantine")
            tables.append(_placed_rows(plan, item.ordinal, rows))
    return pa.concat_tables(tables)


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


def _placed_rows(plan: BuildPlan, ordinal: int, rows: pa.Table) -> pa.Table:
    partition = np.full(rows.num_rows, ordinal)
    files, offsets = rows["file"].combine_chunks(), rows["offset"].combine_chunks()
    places = _places(plan, partition, files, offsets)
    kept = rows.drop_columns(["file", "offset"])
    return pa.table([*places, *kept.columns], schema=PLACED_QUARANTINE)


def _places(
    plan: BuildPlan, partition: np.ndarray, files: pa.Array, offsets: pa.Array
) -> list[pa.Array]:
    """Source names, paths and offsets of rows; null where the partition is below zero."""
    places = [
        (item.partition.source, file.shown, file.offset_base)
        for item in plan.partitions
        for file in item.partition.files
    ]
    sizes = [len(item.partition.files) for item in plan.partitions]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    ordinals = files.fill_null(0).to_numpy()
    at = np.where(partition < 0, 0, starts[np.maximum(partition, 0)] + ordinals)
    wanted = pa.array(at, mask=partition < 0)
    sources, paths, bases = (pa.array(column) for column in zip(*places, strict=True))
    return [sources.take(wanted), paths.take(wanted), pc.add(offsets, bases.take(wanted))]
