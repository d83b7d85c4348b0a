"""Moves of whole versions between the tiers, each recorded in the ledger."""

from __future__ import annotations

from collections.abc import Callable

from flows.storage import workspace_tiers
from lineage.digest import canonical_json, digest_of
from lineage.keys.gate import AccessRequest
from lineage.ledger.draft import Draft
from lineage.ledger.statement import Subject
from lineage.manifests.storage import StorageManifest, StoredObject
from lineage.versions import Version, find_version, read_storage
from lineage.workspace import Workspace
from storage_tiers.moves import Move, MoveReport, demote, promote
from storage_tiers.tiers import TierStatus


def version_status(workspace: Workspace, name: str) -> TierStatus:
    """What of a version lies on which tier."""
    _, storage = _open(workspace, name)
    return workspace_tiers(workspace).status(storage.objects)


def promote_version(workspace: Workspace, name: str) -> MoveReport:
    """Brings every object of a version to hot; raises as `storage_tiers.moves.promote`."""
    version, storage = _open(workspace, name)
    record = _recorder(workspace, version)
    return promote(storage.objects, workspace_tiers(workspace), record)


def demote_version(workspace: Workspace, name: str) -> tuple[MoveReport, int]:
    """Takes a version off hot; raises as `storage_tiers.moves.demote`.

    What the dataset's newest version shares with an older one stays on hot.

    Returns:
        What moved, and how many objects stay because the newest version has them too.
    """
    version, storage = _open(workspace, name)
    newest, kept = _open(workspace, version.dataset)
    shared = {item.object_id for item in kept.objects} if newest != version else set()
    leaving = [item for item in storage.objects if item.object_id not in shared]
    report = demote(leaving, workspace_tiers(workspace), _recorder(workspace, version))
    return report, len(storage.objects) - len(leaving)


def _open(workspace: Workspace, name: str) -> tuple[Version, StorageManifest]:
    version = find_version(workspace.ledger.entries(predicates={"version"}), name)
    signer = workspace.signer("owner")
    request = AccessRequest(signer, version.dataset, "processed", "audit", version=version.manifest)
    lease = workspace.gate.release(request)
    return version, read_storage(workspace.root / "manifests", version, lease)


def _recorder(workspace: Workspace, version: Version) -> Callable[[Move], None]:
    def record(move: Move) -> None:
        body = {
            "dataset": version.dataset,
            "number": version.number,
            "version": version.manifest,
            "kind": move.kind,
            "num_objects": len(move.objects),
            "size_bytes": move.size_bytes,
            "objects": digest_of(canonical_json(_ids(move.objects))),
        }
        subject = Subject(version.name, version.manifest)
        workspace.ledger.append([Draft("move", (subject,), body, (workspace.signer("owner"),))])

    return record


def _ids(objects: tuple[StoredObject, ...]) -> list[str]:
    return sorted(item.object_id.hex() for item in objects)
