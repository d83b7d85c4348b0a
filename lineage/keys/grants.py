"""Grants: who may be given keys to what, for which purpose, until when. Default deny."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from lineage.clock import parse_time, time_text
from lineage.ledger.entry import Entry

APPROVED = "approved"
ZONES = ("raw", "processed", APPROVED)
PURPOSES = ("build", "train", "audit", "lookup")
EVERY_DATASET = "*"


@dataclass(frozen=True, slots=True)
class Grant:
    """One grant as it stands in the ledger.

    Attributes:
        entry_id: of the grant's entry.
        principal: who may.
        dataset: a name, or ``*`` for every dataset.
        zones: some of `ZONES`.
        purposes: some of `PURPOSES`.
        expires: the first moment at which it no longer holds, or None.
    """

    entry_id: str
    principal: str
    dataset: str
    zones: tuple[str, ...]
    purposes: tuple[str, ...]
    expires: datetime | None

    def body(self) -> dict[str, object]:
        """The body of the grant's ledger entry."""
        return {
            "grantee": self.principal,
            "dataset": self.dataset,
            "zones": list(self.zones),
            "purposes": list(self.purposes),
            "expires": None if self.expires is None else time_text(self.expires),
        }

    def covers(self, principal: str, dataset: str, zone: str, purpose: str, now: datetime) -> bool:
        """Whether this grant allows the access at this moment."""
        return (
            self.principal == principal
            and self.dataset in (dataset, EVERY_DATASET)
            and zone in self.zones
            and purpose in self.purposes
            and (self.expires is None or now < self.expires)
        )


def standing_grants(entries: Iterable[Entry]) -> list[Grant]:
    """The grants that stand after these entries: all granted ones without the revoked."""
    grants: dict[str, Grant] = {}
    for entry in entries:
        if entry.predicate == "grant":
            grants[entry.entry_id] = _grant(entry)
        elif entry.predicate == "revoke":
            grants.pop(str(entry.body["grant"]), None)
    return list(grants.values())


def _grant(entry: Entry) -> Grant:
    body = entry.body
    expires = body["expires"]
    return Grant(
        entry_id=entry.entry_id,
        principal=str(body["grantee"]),
        dataset=str(body["dataset"]),
        zones=tuple(body["zones"]),
        purposes=tuple(body["purposes"]),
        expires=None if expires is None else parse_time(expires),
    )
