"""Approvals: who approved which version, over the digest of its content manifest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from lineage.digest import Digest
from lineage.errors import AccessDenied, Conflict
from lineage.keys.keytable import KeyTableHead
from lineage.ledger.draft import Draft
from lineage.ledger.entry import Entry
from lineage.ledger.statement import Subject
from lineage.side import write_side_object
from lineage.versions import Version
from lineage.workspace import PUBLISH_LOCK, PUBLISH_WAIT_S, Workspace


@dataclass(frozen=True, slots=True)
class Approval:
    """One approval as it stands in the ledger.

    Attributes:
        approver: principal id.
        manifest: digest of the content manifest that was approved.
        time: UTC.
    """

    entry_id: str
    approver: str
    dataset: str
    number: int
    manifest: Digest
    time: datetime


def approvals(entries: Iterable[Entry]) -> list[Approval]:
    """All approvals among these entries, oldest first."""
    return [
        Approval(
            entry.entry_id,
            entry.principal,
            entry.body["dataset"],
            int(entry.body["number"]),
            Digest.parse(entry.body["manifest"]),
            entry.time,
        )
        for entry in entries
        if entry.predicate == "approval"
    ]


def is_approved(entries: Iterable[Entry], manifest: Digest) -> bool:
    """Whether somebody approved the version of this content manifest."""
    return any(approval.manifest == manifest for approval in approvals(entries))


def approve(workspace: Workspace, version: Version, reason: str) -> Approval:
    """The owner approves a version; the reason rests as a sealed side object.

    Raises:
        Conflict: the owner approved it before.
        AccessDenied: the builder would approve its own work though others could.
    """
    signer = workspace.signer("owner")
    for given in approvals(workspace.ledger.entries()):
        if (given.manifest, given.approver) == (version.manifest, signer.principal):
            raise Conflict(f"{version.name} is approved already", "nothing is to be done")
    if signer.principal == workspace.config.principals["builder"]:
        raise AccessDenied("who builds does not approve", "approve as a person")
    with workspace.locked(PUBLISH_LOCK, "a build is publishing", PUBLISH_WAIT_S):
        side, head = write_side_object(workspace, version.dataset, reason.encode())
        body = _body(version, side.hex(), head)
        draft = Draft("approval", (Subject(version.name, version.manifest),), body, (signer,))
        (entry,) = workspace.ledger.append([draft])
    return approvals([entry])[0]


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
