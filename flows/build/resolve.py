"""Resolves a build: which documents pass the rules, which are new, which leave, and why.

Memory: what `pipelines.dedup.resolve.Resolving` holds of each document, 16 bytes for each
new one, and one slice of rows that are sorted (`flows.build.ordered`): ADR 0004.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from flows.build.input import InputRows
from flows.build.ordered import SLICE_ROWS, in_order
from flows.build.plan import BuildPlan
from flows.build.staged import staged
from lineage.digest import Digest, canonical_json, digest_of
from lineage.keys.sealing import open_parquet
from lineage.tables import binary_matrix
from pipelines.dedup.order import Ints, leading
from pipelines.dedup.resolve import NEW, Resolution, Resolving, new_order
from pipelines.shards.write import TableWriter
from storage_tiers.stage import StageEntry, StagePart, StageStore

_GROUP_ROWS = 1 << 16
_PLACES = pa.schema([NEW.field(name) for name in ("partition", "row")])
NEW_KIND = "resolutions"


@dataclass(frozen=True, slots=True)
class NewDocuments:
    """The new documents in the order of their shuffle keys; the rest is in the stage store.

    Attributes:
        first: the first eight bytes of each shuffle key, ascending, uint64.
        place: which one it is of the new documents by place in the input.
    """

    first: npt.NDArray[np.uint64]
    place: npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, slots=True)
class ResolvedBuild:
    """What a build adds and removes.

    Attributes:
        key: names this resolution in the stage store, where the new documents lie.
        resolution: what is new, what is removed, and the decisions.
        documents: every document of the input, by partition and row.
        new: the documents that are new.
        fresh: ordinals of the partitions that the parent did not have.
    """

    key: Digest
    resolution: Resolution
    documents: InputRows
    new: NewDocuments
    fresh: frozenset[int]

    def with_tokens(self, num_tokens: Ints) -> ResolvedBuild:
        """The same with the tokens of each new document by place, the end token included."""
        return replace(self, resolution=self.resolution.with_tokens(num_tokens))

    def num_tokens(self, start: int = 0, stop: int | None = None) -> int:
        """Tokens of all new documents, or of some in a row."""
        tokens = self.resolution.tokens
        return 0 if tokens is None else int(tokens[self.new.place[start:stop]].sum(dtype=np.int64))

    def new_rows(self, ordinal: int) -> Ints:
        """The rows of one partition that are new."""
        return np.flatnonzero(self.resolution.new[self.documents.in_partition(ordinal)])


def conclude(
    stage: StageStore,
    plan: BuildPlan,
    documents: InputRows,
    resolving: Resolving,
    parent_keys: frozenset[Digest],
    slice_rows: int = SLICE_ROWS,
) -> ResolvedBuild:
    """Ends the resolution, and stages the new documents for the workers.

    Args:
        parent_keys: build keys of the parent version's partitions.
    """
    fresh = frozenset(item.ordinal for item in plan.partitions if item.key not in parent_keys)
    resolution = resolving.result(fresh)
    key = resolution_key(plan)
    if stage.get(NEW_KIND, key) is None:
        with stage.write(NEW_KIND, key) as part, _writer(part, "places", _PLACES) as places:
            pieces = _noting(resolution.new_documents(), places)
            ordered = in_order(
                stage, pieces, resolution.num_new, "shuffle_key", new_order, slice_rows
            )
            with _writer(part, "new", NEW) as new:
                for table in ordered:
                    new.add(table)
    light = _light(staged(stage, NEW_KIND, key), documents, resolution)
    return ResolvedBuild(key, resolution, documents, light, fresh)


def resolution_key(plan: BuildPlan) -> Digest:
    """Names a build's resolution: by its inputs and its parent."""
    parent = None if plan.parent is None else plan.parent.manifest
    return digest_of(canonical_json({"inputs": plan.inputs, "parent": parent}))


def _writer(part: StagePart, name: str, schema: pa.Schema) -> TableWriter:
    path = part.path(f"{name}.parquet")
    return TableWriter(path, schema, part.seal(name), rows=_GROUP_ROWS)


def _noting(pieces: Iterable[pa.Table], places: TableWriter) -> Iterator[pa.Table]:
    """The new documents as they pass by, by place; their places are written."""
    for piece in pieces:
        places.add(piece.select(_PLACES.names))
        yield piece


def _light(entry: StageEntry, documents: InputRows, resolution: Resolution) -> NewDocuments:
    numbers = np.flatnonzero(resolution.new)
    first = np.empty(len(numbers), np.uint64)
    place = np.empty(len(numbers), np.min_scalar_type(len(numbers)))
    at = 0
    with open_parquet(entry.path("new.parquet"), entry.seal("new")) as file:
        for batch in file.iter_batches(_GROUP_ROWS, columns=[*_PLACES.names, "shuffle_key"]):
            here = slice(at, at + batch.num_rows)
            first[here] = leading(binary_matrix(batch["shuffle_key"]))
            lies = (batch["partition"].to_numpy(), batch["row"].to_numpy())
            place[here] = np.searchsorted(numbers, documents.numbers(*lies))
            at = here.stop
    return NewDocuments(first, place)
