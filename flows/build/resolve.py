"""Resolves a build: which documents pass the rules, which are new, which leave, and why.

Memory: about 250 bytes a document of the whole input, without its text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flows.build.plan import BuildPlan
from flows.build.prepare import KIND, PreparedPartition
from flows.build.staged import staged, staged_table
from lineage.digest import Digest, canonical_json, digest_of
from lineage.keys.sealing import parquet_writer
from pipelines.dedup.resolve import Resolution, Resolving
from pipelines.rules.decide import decide
from pipelines.rules.rule import AnyRule
from pipelines.schema import DOCUMENTS, TOLD
from storage_tiers.stage import StageEntry, StageStore

# What resolving needs; what a source tells besides goes into the lists alone.
_SLIM = [name for name in DOCUMENTS.names if name not in ("text", *TOLD)]
_GROUP_ROWS = 1 << 16
NEW_KIND = "resolutions"


@dataclass(frozen=True, slots=True)
class ResolvedBuild:
    """What a build adds and removes.

    Attributes:
        key: names this resolution in the stage store, where the new documents lie.
        resolution: new documents, removed ones, decisions.
        documents: every document of the input, without its text, by partition and row.
        fresh: ordinals of the partitions that the parent did not have.
    """

    key: Digest
    resolution: Resolution
    documents: pa.Table
    fresh: frozenset[int]

    def with_tokens(self, num_tokens: np.ndarray) -> ResolvedBuild:
        """The same with the tokens of each new document, the end token included."""
        return replace(self, resolution=self.resolution.with_tokens(num_tokens))


def judged_documents(
    stage: StageStore,
    plan: BuildPlan,
    prepared: Sequence[PreparedPartition],
    rules: Sequence[AnyRule],
    sources: Sequence[int],
) -> pa.Table:
    """Every document of the input without its text, with the rule that drops it or none.

    Args:
        sources: the dataset's source ordinal of each source of the spec.
    """
    tables = []
    for item in sorted(prepared, key=lambda item: item.ordinal):
        planned = plan.partitions[item.ordinal]
        entry = staged(stage, KIND, planned.stage_key)
        tables.append(_judged(entry, rules, item.ordinal, sources[planned.source]))
    return pa.concat_tables(tables)


def conclude(
    stage: StageStore,
    plan: BuildPlan,
    documents: pa.Table,
    resolving: Resolving,
    parent_keys: frozenset[Digest],
) -> ResolvedBuild:
    """Ends the resolution, and stages the new documents for the workers.

    Args:
        parent_keys: build keys of the parent version's partitions.
    """
    fresh = frozenset(item.ordinal for item in plan.partitions if item.key not in parent_keys)
    resolution = resolving.result(fresh)
    key = resolution_key(plan)
    if stage.get(NEW_KIND, key) is None:
        by_place = resolution.new.select(["partition", "row"])
        by_place = by_place.sort_by([("partition", "ascending"), ("row", "ascending")])
        with stage.write(NEW_KIND, key) as part:
            for name, table in (("new", resolution.new), ("places", by_place)):
                seal, path = part.seal(name), part.path(f"{name}.parquet")
                with parquet_writer(path, table.schema, seal) as writer:
                    writer.write_table(table, row_group_size=_GROUP_ROWS)
    return ResolvedBuild(key, resolution, documents, fresh)


def resolution_key(plan: BuildPlan) -> Digest:
    """Names a build's resolution: by its inputs and its parent."""
    parent = None if plan.parent is None else plan.parent.manifest
    return digest_of(canonical_json({"inputs": plan.inputs, "parent": parent}))


def _judged(entry: StageEntry, rules: Sequence[AnyRule], ordinal: int, source: int) -> pa.Table:
    table = staged_table(entry, "documents", _SLIM)
    judged = decide(signals_of(entry, table), rules).columns(rules)
    for name, column in judged.items():
        table = table.append_column(name, column)
    rows = table.num_rows
    for name, values in (
        ("source", pa.array(np.full(rows, source, np.int32))),
        ("row", pa.array(np.arange(rows, dtype=np.int64))),
        ("partition", pa.array(np.full(rows, ordinal, np.int32))),
    ):
        table = table.add_column(0, name, values)
    return table


def signals_of(entry: StageEntry, documents: pa.Table) -> pa.Table:
    """The signals of a partition, row by row, with the ones that every document has."""
    signals = documents.select(["num_chars", "num_bytes"])
    if "signals" in entry.receipt["seals"]:
        measured = staged_table(entry, "signals")
        for name in measured.column_names:
            signals = signals.append_column(name, measured[name])
    return signals


def bucket_bounds(buckets: np.ndarray, num_buckets: int) -> np.ndarray:
    """The first row of each bucket, and the end of the last: num_buckets + 1 numbers."""
    return np.searchsorted(buckets, np.arange(num_buckets + 1))


def total_tokens(new: pa.Table) -> int:
    """Tokens of all new documents."""
    return int(pc.sum(new["num_tokens"]).as_py() or 0)
