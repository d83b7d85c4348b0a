"""Resolves a build: which documents are new, which leave, and why.

Memory: about 250 bytes a document of the whole input, without its text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flows.build.plan import BuildPlan
from flows.build.prepare import KIND, STAGED_DOCUMENTS, PreparedPartition
from lineage.digest import Digest, canonical_json, digest_of
from lineage.errors import NotFound
from lineage.keys.sealing import open_parquet, parquet_writer
from pipelines.dedup.resolve import Resolution, resolve
from storage_tiers.stage import StageEntry, StageStore

_SLIM = [name for name in STAGED_DOCUMENTS.names if name != "text"]
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


def resolve_build(
    stage: StageStore,
    plan: BuildPlan,
    prepared: Sequence[PreparedPartition],
    published: pa.Table,
    parent_keys: frozenset[Digest],
    sources: Sequence[int],
) -> ResolvedBuild:
    """Decides over the whole input.

    Args:
        published: alive documents of the parent version.
        parent_keys: build keys of the parent version's partitions.
        sources: the dataset's source ordinal of each source of the spec.
    """
    documents = _documents(stage, plan, prepared, sources)
    fresh = frozenset(item.ordinal for item in plan.partitions if item.key not in parent_keys)
    resolution = resolve(documents, published, fresh)
    parent = None if plan.parent is None else plan.parent.manifest
    key = digest_of(canonical_json({"inputs": plan.inputs, "parent": parent}))
    if stage.get(NEW_KIND, key) is None:
        with stage.write(NEW_KIND, key) as part:
            schema = resolution.new.schema
            with parquet_writer(part.path("new.parquet"), schema, part.seal("new")) as writer:
                writer.write_table(resolution.new, row_group_size=1 << 17)
    return ResolvedBuild(key, resolution, documents, fresh)


def read_new(stage: StageStore, key: Digest, start: int, stop: int) -> pa.Table:
    """Rows of the new documents, in shuffle order."""
    entry = staged(stage, NEW_KIND, key)
    with open_parquet(entry.path("new.parquet"), entry.seal("new")) as file:
        return file.read().slice(start, stop - start)


def staged(stage: StageStore, kind: str, key: Digest) -> StageEntry:
    """An entry that this build made before.

    Raises:
        NotFound: somebody deleted it meanwhile.
    """
    entry = stage.get(kind, key)
    if entry is None:
        raise NotFound(f"stage entry {kind}/{key.hex} is gone", "build again")
    return entry


def _documents(
    stage: StageStore,
    plan: BuildPlan,
    prepared: Sequence[PreparedPartition],
    sources: Sequence[int],
) -> pa.Table:
    tables = [
        _partition_documents(stage, item, sources[plan.partitions[item.ordinal].source])
        for item in sorted(prepared, key=lambda item: item.ordinal)
    ]
    return pa.concat_tables(tables)


def _partition_documents(stage: StageStore, item: PreparedPartition, source: int) -> pa.Table:
    entry = staged(stage, KIND, item.key)
    with open_parquet(entry.path("documents.parquet"), entry.seal("documents")) as file:
        table = file.read(columns=_SLIM)
    rows = table.num_rows
    for name, values in (
        ("source", pa.array(np.full(rows, source, np.int32))),
        ("row", pa.array(np.arange(rows, dtype=np.int64))),
        ("partition", pa.array(np.full(rows, item.ordinal, np.int32))),
    ):
        table = table.add_column(0, name, values)
    return table


def bucket_bounds(buckets: np.ndarray, num_buckets: int) -> np.ndarray:
    """The first row of each bucket, and the end of the last: num_buckets + 1 numbers."""
    return np.searchsorted(buckets, np.arange(num_buckets + 1))


def total_tokens(new: pa.Table) -> int:
    """Tokens of all new documents."""
    return int(pc.sum(new["num_tokens"]).as_py() or 0)
