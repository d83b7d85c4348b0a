"""Publishes a version, in the one order in which a crash anywhere loses nothing.

1. bytes on hot, 2. named in DVC and pushed to cold, 3. verified on cold, 4. manifests, 5. keys
in the key table, 6. Git, 7. the ledger. Only the ledger's entry makes a version:
whatever stops earlier leaves the last version as it was, and the next build goes on
from the stage store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from flows.build.announcer import Announcer
from flows.build.pack import ZONE, minted_receipt, receipt_objects
from flows.build.parent import Parent
from flows.build.plan import BuildPlan
from flows.build.segments import BuiltSegment, FreshObject
from flows.build.statements import version_drafts
from flows.schedules import FILE_NAME as SCHEDULES
from flows.storage import workspace_dvc, workspace_git, workspace_tiers
from lineage.digest import Digest
from lineage.durable import replace_file, sync_file, sync_folder
from lineage.errors import Conflict
from lineage.keys.keytable import WrappedKey, committed_head
from lineage.keys.minting import KeyMinter
from lineage.keys.sealing import NONCE_BYTES, seal_bytes
from lineage.manifests.content import ContentManifest, TableInfo
from lineage.manifests.storage import StorageManifest, StoredObject
from lineage.tables import TableRoot
from lineage.versions import Version, latest_version, manifest_paths, write_storage
from lineage.workspace import Workspace
from pipelines.shards.write import TableWriter
from storage_tiers.stage import StagePart, StageStore
from storage_tiers.stored import store_name

RECORDS = "records"
TREE_HEAD = "treehead"


@dataclass(frozen=True, slots=True)
class Records:
    """The version's long lists as sealed objects, and their roots."""

    tables: Mapping[str, TableInfo]
    fresh: tuple[FreshObject, ...]


def seal_records(
    workspace: Workspace,
    stage: StageStore,
    dataset: str,
    key: Digest,
    tables: Iterable[tuple[str, pa.Table]],
) -> Records:
    """Seals the long lists into the stage store; finds them there after a crash.

    Args:
        tables: names and rows; a name that comes again brings the next rows of its table.
    """
    if stage.get(RECORDS, key) is None:
        with stage.write(RECORDS, key) as part:
            part.receipt.update(_sealed(workspace.minter, part, dataset, tables))
    entry = stage.get(RECORDS, key)
    if entry is None:
        raise Conflict("the stage store was cleared while the build ran", "build again")
    fresh = tuple(
        FreshObject(stored, row, entry.path(Path(stored.name).name))
        for stored, row in receipt_objects(entry, dataset)
    )
    infos = {
        name: TableInfo(table["num_rows"], Digest.parse(table["root"]))
        for name, table in entry.receipt["tables"].items()
    }
    return Records(infos, fresh)


def _sealed(
    minter: KeyMinter, part: StagePart, dataset: str, tables: Iterable[tuple[str, pa.Table]]
) -> dict[str, Any]:
    """Writes the tables side by side; gives what the receipt tells of them."""
    receipts: dict[str, Callable[[], dict[str, Any]]] = {}
    roots: dict[str, TableRoot] = {}
    writers: dict[str, TableWriter] = {}
    with ExitStack() as stack:
        for name, table in tables:
            if name not in writers:
                path = part.path(f"{name}-00000.parquet")
                seal, receipt = minted_receipt(minter, dataset)
                writers[name] = stack.enter_context(TableWriter(path, table.schema, seal))
                receipts[name], roots[name] = partial(receipt, path), TableRoot(table.schema)
            writers[name].add(table)
            roots[name].add(table)
    return {
        "objects": {f"{RECORDS}/{name}-00000.parquet": told() for name, told in receipts.items()},
        "tables": {
            name: {"num_rows": root.num_rows, "root": str(root.root())}
            for name, root in roots.items()
        },
    }


class Publisher:
    """Publishes one version of one dataset; the caller holds the publish lock."""

    def __init__(
        self,
        workspace: Workspace,
        plan: BuildPlan,
        parent: Parent,
        segments: Sequence[BuiltSegment],
        records: Records,
        announce: Announcer,
    ) -> None:
        self._workspace = workspace
        self._plan = plan
        self._parent = parent
        self._segments = segments
        self._records = records
        self._announce = announce
        self._folder = workspace.root / "datasets" / plan.spec.name

    def publish(self, manifest: ContentManifest, build_id: str) -> Version:
        """Does the seven steps.

        Raises:
            Conflict: another build published meanwhile.
            Unavailable: a disk is full, read-only or away; the version is not visible.
            IntegrityError: bytes on cold are not what was written.
        """
        self._require_parent()
        self._place_on_hot()
        tracked = self._track_and_push(manifest.number)
        self._verify_on_cold()
        # Crash point: up to here objects lie on the tiers that nobody names; the next
        # build of the same inputs finds them and writes none again.
        keys = [item.key for item in self._fresh()]
        keys += [segment.salt for segment in self._segments if segment.salt is not None]
        storage = StorageManifest(self.objects())
        sealed = self._write_manifests(manifest, storage)
        self._add_keys([*keys, *sealed.values()])
        # Crash point: manifests without a ledger entry are no version; the next publish
        # replaces them, and cuts the rows that the ledger has not committed.
        name = manifest.name
        self._commit([*tracked, *self._settled_paths()], f"{name}: manifests")
        drafts = version_drafts(
            self._workspace, self._plan, manifest, storage, sealed, build_id, self._parent
        )
        self._workspace.ledger.append(drafts)
        # Crash point: the version is published. The tree head below is a copy outside
        # the ledger; the next publish writes a newer one.
        replace_file(self._workspace.root / TREE_HEAD, self._workspace.ledger.tree_head().encode())
        self._commit([self._workspace.root / TREE_HEAD], f"{name}: tree head")
        return self._published()

    def _require_parent(self) -> None:
        known = self._plan.parent
        newest = self._published_or_none()
        if newest != known:
            raise Conflict(
                f"{self._plan.spec.name}: another build published meanwhile", "build again"
            )

    def _fresh(self) -> list[FreshObject]:
        mine = [item for segment in self._segments for item in segment.fresh]
        return [*mine, *self._records.fresh]

    def objects(self) -> list[StoredObject]:
        """Every object of the version."""
        segments = [stored for segment in self._segments for stored in segment.objects]
        return [*segments, *(item.stored for item in self._records.fresh)]

    def _place_on_hot(self) -> None:
        hot = workspace_tiers(self._workspace).hot
        fresh = self._fresh()
        # Every byte is written to hot, and read back from cold.
        self._announce.expect("publish", 2 * sum(item.stored.size_bytes for item in fresh))
        for item in fresh:
            hot.put(store_name(item.stored), item.path)
            self._announce.advance("publish", num_bytes=item.stored.size_bytes)

    def _track_and_push(self, number: int) -> list[Path]:
        dvc = workspace_dvc(self._workspace)
        self._folder.mkdir(parents=True, exist_ok=True)
        folders = {
            segment.info.name: segment.objects for segment in self._segments if segment.fresh
        }
        folders[f"{RECORDS}-v{number:04d}"] = tuple(i.stored for i in self._records.fresh)
        paths: list[Path] = []
        for name, objects in folders.items():
            dvc_file = dvc.track(self._folder / name, objects)
            dvc.push(dvc_file)
            paths += [dvc_file, dvc_file.with_name(".gitignore")]
        return list(dict.fromkeys(paths))

    def _verify_on_cold(self) -> None:
        tiers = workspace_tiers(self._workspace)
        for item in self._fresh():
            tiers.require(item.stored, "cold")
            self._announce.advance("publish", num_bytes=item.stored.size_bytes)

    def _write_manifests(
        self, manifest: ContentManifest, storage: StorageManifest
    ) -> dict[str, WrappedKey]:
        minter, dataset = self._workspace.minter, manifest.dataset
        content_seal, content_key = minter.mint(dataset, ZONE)
        storage_seal, storage_key = minter.mint(dataset, ZONE)
        manifests = self._workspace.root / "manifests"
        content_path, storage_path = manifest_paths(manifests, dataset, manifest.number)
        content_path.parent.mkdir(parents=True, exist_ok=True)
        nonce = self._workspace.entropy(NONCE_BYTES)
        replace_file(content_path, seal_bytes(manifest.to_bytes(), content_seal, nonce))
        part = storage_path.with_name(f".{storage_path.name}.part")
        write_storage(part, storage, storage_seal)
        sync_file(part)
        part.rename(storage_path)
        sync_folder(storage_path.parent)
        return {"content": content_key, "storage": storage_key}

    def _add_keys(self, rows: Sequence[WrappedKey]) -> None:
        table = self._workspace.keys
        table.cut(committed_head(self._workspace.ledger.entries()).size)
        table.add(rows)

    def _commit(self, paths: Sequence[Path], message: str) -> None:
        workspace_git(self._workspace).commit(paths, message, self._workspace.now())

    def _settled_paths(self) -> list[Path]:
        """What else belongs to the version in Git: its manifests, its spec, the schedules."""
        root, dataset = self._workspace.root, self._plan.spec.name
        schedules = root / SCHEDULES
        paths = [root / "manifests" / dataset, root / "specs" / f"{dataset}.toml"]
        return [*paths, schedules] if schedules.exists() else paths

    def _published_or_none(self) -> Version | None:
        entries = self._workspace.ledger.entries(predicates={"version"})
        return latest_version(entries, self._plan.spec.name)

    def _published(self) -> Version:
        version = self._published_or_none()
        if version is None:
            raise Conflict("the version that was just published is gone from the ledger")
        return version
