"""Approving a version: a person signs the digest of its content manifest."""

from __future__ import annotations

from lineage.errors import AccessDenied, Conflict
from lineage.keys.approvals import Approval, approvals
from lineage.keys.keytable import KeyTableHead
from lineage.ledger.draft import Draft
from lineage.ledger.envelope import Signer
from lineage.ledger.statement import Subject
from lineage.side import write_side_object
from lineage.versions import Version
from lineage.workspace import PUBLISH_LOCK, PUBLISH_WAIT_S, Workspace


def approve(workspace: Workspace, version: Version, reason: str) -> Approval:
    """The owner approves a version; the reason rests as a sealed side object.

    Raises:
        Conflict: the owner approved it before.
        AccessDenied: the builder would approve its own work though others could.
    """
    signer = workspace.signer("owner")
    if signer.principal == workspace.config.principals["builder"]:
        raise AccessDenied("who builds does not approve", "approve as a person")
    # Looked up under the lock: two who approve at once give one entry and one Conflict.
    with workspace.locked(PUBLISH_LOCK, "a build is publishing", PUBLISH_WAIT_S):
        _require_new(workspace, version, signer)
        side, head = write_side_object(workspace, version.dataset, reason.encode())
        body = _body(version, side.hex(), head)
        draft = Draft("approval", (Subject(version.name, version.manifest),), body, (signer,))
        (entry,) = workspace.ledger.append([draft])
    return approvals([entry])[0]


def _require_new(workspace: Workspace, version: Version, signer: Signer) -> None:
    for given in approvals(workspace.ledger.entries(predicates={"approval"})):
        if (given.manifest, given.approver) == (version.manifest, signer.principal):
            raise Conflict(f"{version.name} is approved already", "nothing is to be done")


def _body(version: Version, reason: str, head: KeyTableHead) -> dict[str, object]:
    return {
        "dataset": version.dataset,
        "number": version.number,
        "manifest": version.manifest,
        "policy": None,
        "verdict": None,
        "report": None,
        "reason_object": reason,
        "key_table": {"size": head.size, "root": head.root},
    }
