"""Segments of the new version: their roots, their objects, and the objects that are new."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from flows.build.pack import SHARD_KIND, ZONE, receipt_objects, shard_names
from flows.build.parent import Parent
from flows.build.staged import staged
from flows.storage import workspace_tiers
from lineage.commitments import commitment_root
from lineage.digest import Digest
from lineage.keys.gate import KeyLease
from lineage.keys.keytable import WrappedKey
from lineage.keys.sealing import Seal, open_parquet
from lineage.ledger.merkle import RunningRoot
from lineage.manifests.content import SegmentInfo
from lineage.manifests.storage import StoredObject
from lineage.tables import TableRoot
from lineage.workspace import Workspace
from pipelines.schema import SPANS
from storage_tiers.stage import StageStore


@dataclass(frozen=True, slots=True)
class FreshObject:
    """An object that this build wrote: where it lies now, and its row for the key table."""

    stored: StoredObject
    key: WrappedKey
    path: Path


@dataclass(frozen=True, slots=True)
class BuiltSegment:
    """A segment as the new version has it.

    Attributes:
        info: its row in the content manifest.
        objects: all objects of its folder.
        fresh: those that this build wrote; none when the segment did not change.
        salt: the row of its new salt key, or None.
    """

    info: SegmentInfo
    objects: tuple[StoredObject, ...]
    fresh: tuple[FreshObject, ...]
    salt: WrappedKey | None


class SegmentBuilder:
    """Puts segments together from stage entries and from what is published."""

    def __init__(
        self, workspace: Workspace, stage: StageStore, parent: Parent, lease: KeyLease, dataset: str
    ) -> None:
        self._workspace = workspace
        self._stage = stage
        self._parent = parent
        self._lease = lease
        self._dataset = dataset

    def new(self, name: str, keys: Sequence[Digest]) -> BuiltSegment:
        """A new segment from the stage entries of its shards."""
        return self._build(name, None, len(keys), dict(enumerate(keys)))

    def changed(self, info: SegmentInfo, keys: Mapping[int, Digest]) -> BuiltSegment:
        """A published segment of which some shards were rewritten."""
        return self._build(info.name, info, len(info.shard_samples), keys)

    def unchanged(self, info: SegmentInfo) -> BuiltSegment:
        """A published segment as it was."""
        if self._parent.storage is None:
            raise ValueError("a first version has no older segment")
        return BuiltSegment(info, self._parent.storage.folder(info.name), (), None)

    def _build(
        self, name: str, old: SegmentInfo | None, num_shards: int, keys: Mapping[int, Digest]
    ) -> BuiltSegment:
        fresh = {item.stored.name: item for key in keys.values() for item in self._fresh(key)}
        objects: list[StoredObject] = []
        for shard in range(num_shards):
            objects += [self._stored(item, fresh) for item in shard_names(name, shard)]
        seal, salt = self._workspace.minter.mint(self._dataset, ZONE)
        sums = _Sums()

        def spans() -> Iterator[pa.Table]:
            for shard in range(num_shards):
                samples_name, spans_name = shard_names(name, shard)
                table = self._table(spans_name, fresh, None)
                sums.add(self._leaves(samples_name, fresh), table)
                yield table

        info = sums.info(name, old, commitment_root(spans(), seal.key), seal)
        return BuiltSegment(info, tuple(objects), tuple(fresh.values()), salt)

    def _fresh(self, key: Digest) -> list[FreshObject]:
        entry = staged(self._stage, SHARD_KIND, key)
        return [
            FreshObject(stored, row, entry.path(Path(stored.name).name))
            for stored, row in receipt_objects(entry, self._dataset)
        ]

    def _stored(self, name: str, fresh: Mapping[str, FreshObject]) -> StoredObject:
        return fresh[name].stored if name in fresh else self._parent.object(name)

    def _leaves(self, name: str, fresh: Mapping[str, FreshObject]) -> np.ndarray:
        column = self._table(name, fresh, ["leaf"])["leaf"].combine_chunks()
        data = (
            np.frombuffer(column.buffers()[1], np.uint8) if len(column) else np.empty(0, np.uint8)
        )
        return data[column.offset * 32 :][: len(column) * 32].reshape(-1, 32)

    def _table(
        self, name: str, fresh: Mapping[str, FreshObject], columns: list[str] | None
    ) -> pa.Table:
        if name in fresh:
            path, seal = fresh[name].path, self._own_seal(fresh[name].key)
        else:
            stored = self._parent.object(name)
            path = workspace_tiers(self._workspace).path_on_hot(stored)
            seal = self._lease.seal(stored.object_id)
        with open_parquet(path, seal) as file:
            return file.read(columns=columns)

    def _own_seal(self, row: WrappedKey) -> Seal:
        """The seal of an object of this very build, whose key no table holds yet."""
        key = self._workspace.wrapping.unwrap(row.wrapped, row.use)
        return Seal(self._workspace.id_bytes, row.use.object_id, key)


class _Sums:
    """What the manifest tells of a segment, shard by shard: no segment has to fit into memory."""

    def __init__(self) -> None:
        self._content = RunningRoot()
        self._spans = TableRoot(SPANS)
        self._shard_samples: list[int] = []
        self._documents, self._tokens = np.zeros((2, 0), np.int64)
        self._num_holes = self._num_hole_tokens = 0

    def add(self, leaves: np.ndarray, spans: pa.Table) -> None:
        """Takes the next shard."""
        self._content.add(leaves)
        self._spans.add(spans)
        self._shard_samples.append(len(leaves))
        alive = spans["document_id"].is_valid().to_numpy()
        source, tokens = spans["source"].to_numpy(), spans["num_tokens"].to_numpy()
        # Sums stay exact: they are far below the 2**53 that a double holds.
        self._documents = _added(self._documents, np.bincount(source[alive]))
        self._tokens = _added(self._tokens, np.bincount(source[alive], tokens[alive]))
        self._num_holes += int((~alive).sum())
        self._num_hole_tokens += int(tokens[~alive].sum())

    def info(
        self, name: str, old: SegmentInfo | None, commitments: Digest, seal: Seal
    ) -> SegmentInfo:
        """The segment's row in the content manifest."""
        content_root = Digest(self._content.root())
        return SegmentInfo(
            name=name,
            order_id=content_root if old is None else old.order_id,
            content_root=content_root,
            commitment_root=commitments,
            spans_root=self._spans.root(),
            salt_object=seal.object_id.hex(),
            source_documents=tuple(self._documents.tolist()),
            source_tokens=tuple(self._tokens.tolist()),
            num_holes=self._num_holes,
            num_hole_tokens=self._num_hole_tokens,
            shard_samples=tuple(self._shard_samples),
        )


def _added(sums: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Sums by source; one of the two may know of more sources."""
    total = np.zeros(max(len(sums), len(more)), np.int64)
    total[: len(sums)] += sums
    total[: len(more)] += more.astype(np.int64)
    return total
