"""One ledger entry, opened and parsed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from lineage.ledger.envelope import EnvelopeSignature, open_envelope
from lineage.ledger.leaf import open_payload, parse_leaf
from lineage.ledger.statement import Claim, Subject, claim_of, parse_statement, predicate_name
from lineage.ledger.store import Row


@dataclass(frozen=True, slots=True)
class Entry:
    """What one entry says; its signatures are verified by `verify_ledger` only.

    Attributes:
        position: 0-based place in the log.
        entry_id: 32 hex digits.
        predicate: the short name, or the URI of a predicate type that is not ours.
        subjects: what it is about; one or more.
        claim: who said it, as which of its statements, when, and after which tree head.
        signatures: as they stand in the envelope.
        envelope: the exact DSSE bytes.
        leaf: the exact leaf data.
        blind: the 32 bytes that open the leaf's commitment to an outsider.
    """

    position: int
    entry_id: str
    predicate: str
    subjects: tuple[Subject, ...]
    claim: Claim
    signatures: tuple[EnvelopeSignature, ...]
    envelope: bytes = field(repr=False)
    leaf: bytes = field(repr=False)
    blind: bytes = field(repr=False)

    @property
    def principal(self) -> str:
        """The first signer's id."""
        return self.claim.principal

    @property
    def time(self) -> datetime:
        """When it was signed, by the signer's clock: UTC, whole seconds."""
        return self.claim.time

    @property
    def body(self) -> Mapping[str, Any]:
        """The claim itself; integers stand as decimal strings."""
        return self.claim.body


def open_entry(row: Row, ledger_key: bytes) -> Entry:
    """Opens and parses a stored entry, and checks it against its leaf's commitment.

    Raises:
        IntegrityError: wrong key, changed bytes, or no statement of ours.
    """
    leaf = parse_leaf(row.leaf)
    blind, envelope = open_payload(row.payload, leaf=leaf, ledger_key=ledger_key)
    payload, signatures = open_envelope(envelope)
    statement = parse_statement(payload)
    return Entry(
        position=row.position,
        entry_id=leaf.entry_id,
        predicate=predicate_name(statement.predicate_type),
        subjects=statement.subjects,
        claim=claim_of(statement),
        signatures=signatures,
        envelope=envelope,
        leaf=row.leaf,
        blind=blind,
    )
