"""Segments of the new version: their roots, their objects, and the objects that are new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flows.build.pack import SHARD_KIND, ZONE, receipt_objects, shard_names
from flows.build.parent import Parent
from flows.build.staged import staged
from flows.storage import workspace_tiers
from lineage.commitments import commitment_root
from lineage.digest import Digest
from lineage.keys.gate import KeyLease
from lineage.keys.keytable import WrappedKey
from lineage.keys.sealing import Seal, open_parquet
from lineage.ledger.merkle import root_of
from lineage.manifests.content import SegmentInfo
from lineage.manifests.storage import StoredObject
from lineage.tables import table_root
from lineage.workspace import Workspace
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
        leaves: list[np.ndarray] = []
        spans: list[pa.Table] = []
        for shard in range(num_shards):
            samples_name, spans_name = shard_names(name, shard)
            leaves.append(self._leaves(samples_name, fresh))
            spans.append(self._table(spans_name, fresh, None))
            objects += [self._stored(samples_name, fresh), self._stored(spans_name, fresh)]
        seal, salt = self._workspace.minter.mint(self._dataset, ZONE)
        info = _info(name, old, leaves, spans, seal)
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


def _info(
    name: str,
    old: SegmentInfo | None,
    leaves: Sequence[np.ndarray],
    spans: Sequence[pa.Table],
    seal: Seal,
) -> SegmentInfo:
    everything = pa.concat_tables(spans)
    alive = everything.filter(everything["document_id"].is_valid())
    content_root = Digest(root_of(np.concatenate(leaves)))
    return SegmentInfo(
        name=name,
        order_id=content_root if old is None else old.order_id,
        content_root=content_root,
        commitment_root=commitment_root(spans, seal.key),
        spans_root=table_root(everything),
        salt_object=seal.object_id.hex(),
        source_documents=_by_source(alive, None),
        source_tokens=_by_source(alive, alive["num_tokens"].to_numpy()),
        num_holes=everything.num_rows - alive.num_rows,
        num_hole_tokens=_total(everything["num_tokens"]) - _total(alive["num_tokens"]),
        shard_samples=tuple(len(part) for part in leaves),
    )


def _by_source(spans: pa.Table, weights: np.ndarray | None) -> tuple[int, ...]:
    # Sums stay exact: they are far below the 2**53 that a double holds.
    counts = np.bincount(spans["source"].to_numpy(), weights)
    return tuple(int(count) for count in counts)


def _total(column: pa.ChunkedArray) -> int:
    return int(pc.sum(column).as_py() or 0)
