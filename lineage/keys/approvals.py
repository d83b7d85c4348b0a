"""Approvals: who approved which version, as the ledger says it; the gate reads them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from lineage.digest import Digest
from lineage.ledger.entry import Entry


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
