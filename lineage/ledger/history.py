"""A ledger's entries as a verifier reads them, one by one, with what it believes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from lineage.errors import IntegrityError
from lineage.finding import Finding
from lineage.ledger import merkle
from lineage.ledger.entry import Entry, open_entry
from lineage.ledger.envelope import verify_envelope
from lineage.ledger.leaf import parse_leaf
from lineage.ledger.log import Ledger
from lineage.ledger.store import Row

_PAGE_ROWS = 512


@dataclass(frozen=True, slots=True)
class PrincipalKey:
    """A public key and whose it is."""

    principal: str
    public_key: Ed25519PublicKey


Keys = Mapping[str, PrincipalKey]  # by key id


def _same_keys(known: Keys, _entry: Entry) -> Keys:
    return known


@dataclass(frozen=True, slots=True)
class Trust:
    """What a verifier believes before it looks.

    Attributes:
        log_keys: public keys that may sign this log's tree heads.
        keys: the principals' keys that are known from the start, by key id.
        learn: called after each sound entry, in order, with the keys known so far and the
            entry; gives the keys known from there on. May raise IntegrityError: a finding.
    """

    log_keys: tuple[Ed25519PublicKey, ...]
    keys: Keys
    learn: Callable[[Keys, Entry], Keys] = _same_keys


@dataclass(slots=True)
class History:
    """What the entries of a ledger add up to.

    Attributes:
        leaves: the hash of each leaf as it is stored now.
        seen: (position, size, root) of the tree head that each signer had seen.
        counts: each principal's last sequence number.
        num_unsound: entries that cannot be opened, or not be counted as their principal's
            because a signature fails; each has its finding.
        damaged_from: the first position whose leaf is not the one that was hashed.
    """

    leaves: list[bytes] = field(default_factory=list)
    seen: list[tuple[int, int, bytes]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    num_unsound: int = 0
    damaged_from: int | None = None

    def is_damaged(self, size: int) -> bool:
        """True if a tree of that size holds a damaged leaf: its root says nothing new."""
        return self.damaged_from is not None and size > self.damaged_from


def read_history(ledger: Ledger, trust: Trust, findings: list[Finding]) -> History:
    """Reads every entry (steps 1 to 4 of `verify`) and adds what is wrong to `findings`.

    Raises:
        Unavailable: the store does not answer.
        IntegrityError: the store cannot be read at all.
    """
    size = ledger.store.size()
    hashed = takewhile(lambda node: node[0] <= 0, ledger.store.nodes())
    stored = {index: leaf_hash for _, index, leaf_hash in hashed}
    reader = _Reader(ledger, trust, findings, stored, trust.keys)
    for start in range(0, size, _PAGE_ROWS):
        end = min(start + _PAGE_ROWS, size)
        rows = {row.position: row for row in ledger.store.rows(start, end)}
        for position in range(start, end):
            reader.read(position, rows.get(position))
    return reader.history


@dataclass(slots=True)
class _Reader:
    ledger: Ledger
    trust: Trust
    findings: list[Finding]
    stored: Mapping[int, bytes]
    known: Keys
    history: History = field(default_factory=History)
    ids: set[str] = field(default_factory=set)

    def read(self, position: int, row: Row | None) -> None:
        """One place of the log, whatever lies there."""
        history = self.history
        history.leaves.append(merkle.leaf_hash(b"" if row is None else row.leaf))
        try:
            self._check_leaf(position, row)
        except IntegrityError as error:
            self._note(position, error)
            if history.damaged_from is None:
                history.damaged_from = position
        if row is None:
            history.num_unsound += 1
            return
        try:
            entry = open_entry(row, self.ledger.ledger_key)
            history.seen.append((position, entry.claim.seen_size, entry.claim.seen_root.raw))
        except IntegrityError as error:
            history.num_unsound += 1
            self._note(position, error)
            return
        self._check_entry(entry)

    def _check_leaf(self, position: int, row: Row | None) -> None:
        if row is None:
            raise IntegrityError("the entry is missing")
        if self.stored.get(position) != self.history.leaves[position]:
            raise IntegrityError("the leaf is not the one that was hashed into the tree")
        leaf = parse_leaf(row.leaf)
        if leaf.log_id != self.ledger.log_id:
            raise IntegrityError("the leaf is of another log")
        if leaf.entry_id != row.entry_id or leaf.entry_id in self.ids:
            raise IntegrityError("the entry id is not that of the leaf, or stands twice")
        self.ids.add(leaf.entry_id)

    def _check_entry(self, entry: Entry) -> None:
        try:
            self._check_signatures(entry)
        except IntegrityError as error:
            self.history.num_unsound += 1
            self._note(entry.position, error)
            return
        try:
            self._count(entry)
            self.known = self.trust.learn(self.known, entry)
        except IntegrityError as error:
            self._note(entry.position, error)

    def _check_signatures(self, entry: Entry) -> None:
        if entry.claim.log_id != self.ledger.log_id:
            raise IntegrityError("the statement is of another log")
        keyids = [signature.keyid for signature in entry.signatures]
        known = {keyid: self.known[keyid] for keyid in keyids if keyid in self.known}
        verify_envelope(
            entry.envelope, {keyid: key.public_key for keyid, key in known.items()}, keyids
        )
        if known[keyids[0]].principal != entry.principal:
            raise IntegrityError("the first signature is not by the entry's principal")

    def _count(self, entry: Entry) -> None:
        counts = self.history.counts
        missing = entry.claim.sequence - counts.get(entry.principal, 0) - 1
        counts[entry.principal] = entry.claim.sequence
        # An unsound entry may be what is missing, and is a finding already.
        if not 0 <= missing <= self.history.num_unsound:
            raise IntegrityError("the principal's sequence has a gap, or a number twice")

    def _note(self, position: int, error: IntegrityError) -> None:
        self.findings.append(Finding(error.message, f"entry {position}"))
