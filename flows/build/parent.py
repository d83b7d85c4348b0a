"""The version before: its manifests, its alive documents, its partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from flows.build.plan import BuildPlan
from flows.storage import workspace_tiers
from lineage.digest import Digest
from lineage.errors import IntegrityError, NotFound
from lineage.keys.gate import KeyLease
from lineage.keys.sealing import open_parquet
from lineage.manifests.content import ContentManifest, SegmentInfo
from lineage.manifests.storage import StorageManifest, StoredObject
from lineage.versions import read_content, read_storage
from lineage.workspace import Workspace
from pipelines.dedup.columns import PUBLISHED
from pipelines.dedup.order import Ints, Mask
from pipelines.spec.dataset import DatasetSpec


@dataclass(frozen=True, slots=True)
class Parent:
    """An open parent version; empty for a first build.

    Attributes:
        content, storage: its manifests, or None.
        segments: those that the new version goes on with; none when the tokenizer, the
            seed or the shape of samples changed, since then all is packed anew.
    """

    content: ContentManifest | None
    storage: StorageManifest | None
    segments: tuple[SegmentInfo, ...]

    def source_names(self, spec: DatasetSpec) -> tuple[str, ...]:
        """Names by source ordinal: an ordinal stands in shards, so it never changes."""
        known = [] if self.content is None else [row.name for row in self.content.sources]
        return tuple(dict.fromkeys([*known, *(source.name for source in spec.sources)]))

    def object(self, name: str) -> StoredObject:
        """One stored object; NotFound when the version has none of this name."""
        if self.storage is None:
            raise NotFound(f"{name}: there is no version yet")
        return self.storage.object(name)

    @property
    def next_segment(self) -> str:
        """Name of the next new segment; a name is never used twice in a dataset."""
        numbers = [int(row.name.rpartition("-")[2]) for row in self._every_segment()]
        return f"segment-{max(numbers, default=0) + 1:04d}"

    def _every_segment(self) -> tuple[SegmentInfo, ...]:
        return () if self.content is None else self.content.segments


def open_parent(workspace: Workspace, plan: BuildPlan, lease: KeyLease) -> Parent:
    """Opens the manifests of the plan's parent version.

    Raises:
        NotFound: a manifest is missing.
        IntegrityError: a manifest is not what the ledger names.
    """
    if plan.parent is None:
        return Parent(None, None, ())
    manifests = workspace.root / "manifests"
    content = read_content(manifests, plan.parent, lease)
    storage = read_storage(manifests, plan.parent, lease)
    goes_on = content.packing == plan.packing
    return Parent(content, storage, content.segments if goes_on else ())


class AliveRows:
    """The alive documents of the parent, by shard and span: `pipelines.dedup.rows.Rows`.

    Its columns are those of `PUBLISHED`. Shards without a wanted row are not read again;
    memory is that of the spans of one shard.
    """

    def __init__(self, workspace: Workspace, parent: Parent, lease: KeyLease) -> None:
        self._workspace = workspace
        self._parent = parent
        self._lease = lease
        self._shards = [
            (number, shard)
            for number, segment in enumerate(parent.segments)
            for shard in range(len(segment.shard_samples))
        ]
        self._sizes: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return sum(segment.num_documents for segment in self._parent.segments)

    def read(
        self, columns: Sequence[str], wanted: Mask | None = None
    ) -> Iterator[tuple[Ints, pa.Table]]:
        """As `pipelines.dedup.rows.Rows.read`.

        Raises:
            IntegrityError: the shards hold other documents than the manifest counts.
        """
        first = 0
        for at in self._shards:
            size = self._sizes.get(at)
            if wanted is None or size is None or wanted[first : first + size].any():
                alive = self._alive(*at)
                self._sizes[at] = size = alive.num_rows
                self._require(first + size <= len(self))
                rows = np.arange(size)
                if wanted is not None:
                    rows = np.flatnonzero(wanted[first : first + size])
                if len(rows):
                    yield first + rows, alive.select(list(columns)).take(pa.array(rows))
            first += size
        self._require(first == len(self))

    def _require(self, agrees: bool) -> None:
        if not agrees:
            raise IntegrityError(
                f"the shards of the parent version do not hold the {len(self)} documents "
                "that its manifest counts",
                "run shardline audit verify",
            )

    def _alive(self, number: int, shard: int) -> pa.Table:
        name = self._parent.segments[number].name
        spans = read_spans(self._workspace, self._parent, name, shard, self._lease)
        return _alive(spans, number, shard)


def read_spans(
    workspace: Workspace, parent: Parent, segment: str, shard: int, lease: KeyLease
) -> pa.Table:
    """The spans of one published shard."""
    return read_object(workspace, parent.object(f"{segment}/spans-{shard:05d}.parquet"), lease)


def read_object(workspace: Workspace, stored: StoredObject, lease: KeyLease) -> pa.Table:
    """One published object as a table, brought back from cold where it must be."""
    path = workspace_tiers(workspace).path_on_hot(stored)
    with open_parquet(path, lease.seal(stored.object_id)) as file:
        return file.read()


def parent_keys(workspace: Workspace, parent: Parent, lease: KeyLease) -> frozenset[Digest]:
    """Build keys of the partitions that the parent was built from."""
    if parent.storage is None or not parent.segments:
        return frozenset()
    keys: set[Digest] = set()
    for stored in parent.storage.objects:
        if stored.name.startswith("records/partitions-"):
            table = read_object(workspace, stored, lease)
            keys.update(Digest(key) for key in table["key"].to_pylist())
    return frozenset(keys)


def _alive(spans: pa.Table, segment: int, shard: int) -> pa.Table:
    rows = np.flatnonzero(spans["document_id"].is_valid().to_numpy())
    alive = spans.select(["document_id", "raw_content_id", "content_id"]).take(pa.array(rows))
    for name, value in (("segment", segment), ("shard", shard)):
        alive = alive.append_column(name, pa.array(np.full(len(rows), value, np.int32)))
    alive = alive.append_column("span", pa.array(rows))
    num_tokens = spans["num_tokens"].take(pa.array(rows))
    return alive.append_column("num_tokens", num_tokens).cast(PUBLISHED)
