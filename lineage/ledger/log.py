"""The ledger: an append-only Merkle log of signed statements.

Whoever appends waits for the turn, reads the newest tree head, signs what it says
after having seen that head, and stores entries, tree and new head in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from typing import TypeVar

from lineage.digest import Digest
from lineage.errors import (
    ConfigError,
    Conflict,
    IntegrityError,
    NotFound,
    OutcomeUnknown,
)
from lineage.ledger import merkle
from lineage.ledger.draft import Draft, row_of
from lineage.ledger.entry import Entry, open_entry
from lineage.ledger.leaf import is_id
from lineage.ledger.statement import Claim
from lineage.ledger.store import Appending, Batch, LedgerStore
from lineage.ledger.treehead import (
    LogSigner,
    TreeHead,
    origin_of,
    parse_tree_head,
    sign_tree_head,
    verify_tree_head,
)

T = TypeVar("T")


class AppendUnknown(OutcomeUnknown):
    """An append may or may not be stored: `Ledger.find` of the first id tells for all.

    Attributes:
        entry_ids: of the drafts, in their order.
    """

    def __init__(self, entry_ids: Sequence[str]) -> None:
        super().__init__(
            f"{len(entry_ids)} entries may or may not be in the ledger: {', '.join(entry_ids[:3])}",
            "look for the first id; all of them are there, or none",
        )
        self.entry_ids = tuple(entry_ids)


class Ledger:
    """One log in one store. Made by `create` or `open`; safe to use from many threads."""

    def __init__(
        self,
        store: LedgerStore,
        log_id: str,
        *,
        ledger_key: bytes,
        log_signer: LogSigner | None,
        entropy: Callable[[int], bytes],
        now: Callable[[], datetime],
    ) -> None:
        if len(ledger_key) != 32 or not is_id(log_id):
            raise ValueError("a ledger key has 32 bytes, and a log id 32 lower-case hex digits")
        self.log_id = log_id
        self.origin = origin_of(log_id)
        self.store = store
        self.ledger_key = ledger_key
        self._log_signer = log_signer
        self._entropy = entropy
        self._now = now

    @classmethod
    def create(
        cls,
        store: LedgerStore,
        log_id: str,
        *,
        ledger_key: bytes,
        log_signer: LogSigner,
        entropy: Callable[[int], bytes],
        now: Callable[[], datetime],
    ) -> Ledger:
        """Begins a log in an empty store, with a tree head of size 0.

        Args:
            log_id: 32 random lower-case hex digits.
            ledger_key: 32 bytes that seal the payloads.
            entropy: gives that many random bytes.
            now: gives an aware time.

        Raises:
            Conflict: the store holds a log already.
        """
        ledger = cls(
            store,
            log_id,
            ledger_key=ledger_key,
            log_signer=log_signer,
            entropy=entropy,
            now=now,
        )
        # A crash before this commit leaves a store without a tree head: `open` refuses it,
        # and `create` may begin it again, since nothing was recorded.
        with store.appending() as appending:
            if appending.tree_head() is not None or appending.size():
                raise Conflict("the store holds a log already")
            note = sign_tree_head(
                ledger.origin, 0, merkle.EMPTY_ROOT, ledger.origin, log_signer.private_key
            )
            appending.commit(Batch([], {}, 0, note, {}))
        return ledger

    @classmethod
    def open(
        cls,
        store: LedgerStore,
        log_id: str,
        *,
        ledger_key: bytes,
        log_signer: LogSigner | None,
        entropy: Callable[[int], bytes],
        now: Callable[[], datetime],
        remembered: str | None = None,
    ) -> Ledger:
        """Opens a log that exists.

        Args:
            log_signer: None for a reader, who cannot append.
            remembered: a tree head kept elsewhere, that this log must continue.

        Raises:
            NotFound: the store holds no log.
            IntegrityError: another log or key, or the log does not continue `remembered`.
        """
        ledger = cls(
            store,
            log_id,
            ledger_key=ledger_key,
            log_signer=log_signer,
            entropy=entropy,
            now=now,
        )
        head = ledger._checked_head(store.tree_head())
        # Rows are read after the head: others may append meanwhile, so only less is wrong.
        root = ledger._from_nodes(lambda nodes: merkle.root_from(nodes, head.size))
        _require_tree(head, min(head.size, store.size()), root)
        if remembered is not None:
            ledger.require_continues(remembered)
        return ledger

    @property
    def size(self) -> int:
        """Entries in the log."""
        return self._head().size

    def tree_head(self) -> str:
        """The newest tree head, a signed note."""
        note = self.store.tree_head()
        if note is None:
            raise NotFound("the store holds no log")
        return note

    def append(self, drafts: Sequence[Draft]) -> list[Entry]:
        """Signs and stores entries, all or none, in one transaction; durable on return.

        Many drafts in one call cost about as much as one.

        Raises:
            ConfigError: an unknown predicate, no subject or signer, or an entry over 64 KiB.
            IntegrityError: the log is damaged; nothing is appended to it.
            Unavailable: the store does not answer; nothing is stored.
            AppendUnknown: the store's answer was lost; see its `entry_ids`.
        """
        if not drafts:
            return []
        for draft in drafts:
            draft.check()
        with self.store.appending() as appending:
            batch = self._batch(appending, drafts)
            try:
                appending.commit(batch)
            except OutcomeUnknown:
                raise AppendUnknown([row.entry_id for row in batch.rows]) from None
        return [open_entry(row, self.ledger_key) for row in batch.rows]

    def entries(
        self, start: int = 0, end: int | None = None, predicates: Collection[str] | None = None
    ) -> Iterator[Entry]:
        """Entries from `start` to `end`, end exclusive (default: the size now), opened.

        Args:
            predicates: short names; others are passed over.

        Raises:
            IntegrityError: an entry is missing or cannot be opened.
        """
        stop = self.size if end is None else min(end, self.size)
        expected = start = max(start, 0)
        for row in self.store.rows(start, stop):
            if row.position != expected:
                break
            expected += 1
            entry = open_entry(row, self.ledger_key)
            if predicates is None or entry.predicate in predicates:
                yield entry
        if expected < stop:
            raise IntegrityError(f"entry {expected} of the ledger is missing")

    def entry(self, position: int) -> Entry:
        """The entry at a position.

        Raises:
            NotFound: the log is shorter.
        """
        if not 0 <= position < self.size:
            raise NotFound(f"the ledger has no entry {position}")
        return next(self.entries(position, position + 1))

    def find(self, entry_id: str) -> Entry | None:
        """The entry of an id, or None: it is not stored."""
        row = self.store.find(entry_id)
        return None if row is None else open_entry(row, self.ledger_key)

    def root(self, size: int) -> Digest:
        """The root of the first `size` entries, from stored nodes.

        Raises:
            NotFound: the log is shorter.
        """
        if not 0 <= size <= self.size:
            raise NotFound(f"the ledger has {self.size} entries, not {size}")
        return Digest(self._from_nodes(lambda nodes: merkle.root_from(nodes, size)))

    def inclusion(self, position: int, size: int) -> list[bytes]:
        """Proof that an entry's leaf stands at a position in the tree of a size.

        Raises:
            NotFound: no such entry in such a tree.
        """
        if not 0 <= position < size <= self.size:
            raise NotFound(f"no entry {position} in a tree of {size} entries of {self.size}")
        return self._from_nodes(lambda nodes: merkle.inclusion_from(nodes, position, size))

    def consistency(self, old: int, new: int) -> list[bytes]:
        """Proof that the tree of size `new` continues the tree of size `old`.

        Raises:
            NotFound: the log is shorter, or `old` is above `new`.
        """
        if not 0 <= old <= new <= self.size:
            raise NotFound(f"no trees of {old} and {new} entries in a log of {self.size}")
        return self._from_nodes(lambda nodes: merkle.consistency_from(nodes, old, new))

    def require_continues(self, remembered: str) -> None:
        """Checks this log against a tree head that was kept elsewhere.

        The caller MUST have kept the note where whoever can change the log cannot.

        Raises:
            IntegrityError: the log is shorter, or another history, or the note is of another log.
        """
        head = parse_tree_head(remembered)
        if head.origin != self.origin:
            raise IntegrityError("the remembered tree head is of another log")
        if head.size > self.size:
            raise IntegrityError(
                f"the ledger has {self.size} entries, but had {head.size}: an older copy",
                "put the newer ledger back; append nothing to this one",
            )
        if self.root(head.size).raw != head.root:
            raise IntegrityError(f"the ledger's first {head.size} entries are another history")

    def _head(self) -> TreeHead:
        return parse_tree_head(self.tree_head())

    def _from_nodes(self, compute: Callable[[merkle.NodeSource], T]) -> T:
        """Computes from stored nodes, all read in one query: a first pass notes which."""
        wanted = merkle.PlaceList()
        compute(wanted)
        return compute(merkle.NodeMap(self.store.nodes_at(wanted.places)))

    def _checked_head(self, note: str | None) -> TreeHead:
        """The newest tree head, if it is this log's and signed by its key."""
        if note is None:
            raise NotFound(
                "the store holds no log", "if `shardline init` was interrupted, run it again"
            )
        if self._log_signer is not None:
            key = self._log_signer.public_key
            return verify_tree_head(note, self.origin, self.origin, key)
        head = parse_tree_head(note)
        if head.origin != self.origin:
            raise IntegrityError("the store holds another log")
        return head

    def _batch(self, appending: Appending, drafts: Sequence[Draft]) -> Batch:
        if self._log_signer is None:
            raise ConfigError("this ledger is open for reading: it has no log key")
        head = self._checked_head(appending.tree_head())
        peaks = appending.nodes_at(merkle.peaks_of(head.size))
        _require_tree(head, appending.size(), merkle.root_from(merkle.NodeMap(peaks), head.size))
        sequences: dict[str, int] = {}
        rows = []
        for position, draft in enumerate(drafts, start=head.size):
            last = sequences.get(draft.principal) or appending.sequence(draft.principal)
            sequences[draft.principal] = last + 1
            claim = self._claim(draft, last + 1, head)
            rows.append(
                row_of(
                    draft,
                    claim,
                    position=position,
                    ledger_key=self.ledger_key,
                    entropy=self._entropy,
                )
            )
        leaves = [merkle.leaf_hash(row.leaf) for row in rows]
        nodes = merkle.grown_nodes(merkle.NodeMap(peaks), head.size, leaves)
        size = head.size + len(rows)
        root = merkle.root_from(merkle.NodeMap(nodes, peaks), size)
        note = sign_tree_head(self.origin, size, root, self.origin, self._log_signer.private_key)
        return Batch(rows, nodes, size, note, sequences)

    def _claim(self, draft: Draft, sequence: int, seen: TreeHead) -> Claim:
        return Claim(
            log_id=self.log_id,
            principal=draft.principal,
            sequence=sequence,
            seen_size=seen.size,
            seen_root=Digest(seen.root),
            time=self._now(),
            body=draft.body,
        )


def _require_tree(head: TreeHead, num_rows: int, root: bytes) -> None:
    """Nothing is appended to a log whose rows or nodes are not what its head signs."""
    if head.size != num_rows or head.root != root:
        raise IntegrityError(
            f"the ledger's tree is not the one that its tree head of size {head.size} signs",
            "run `shardline audit verify`",
        )
