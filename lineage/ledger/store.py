"""Where a ledger's rows lie: what every store promises, and the rows themselves.

A store knows positions, bytes and nodes. It does not know what an entry says: it
never opens a payload and verifies nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from lineage.ledger.merkle import Place


@dataclass(frozen=True, slots=True)
class Row:
    """One entry as it is stored.

    Attributes:
        position: 0-based place in the log (C2SP: leaf index).
        entry_id: 32 hex digits, unique in the log.
        leaf: leaf data, canonical JSON.
        payload: sealed.
    """

    position: int
    entry_id: str
    leaf: bytes
    payload: bytes


@dataclass(frozen=True, slots=True)
class Batch:
    """All that one append adds.

    Attributes:
        rows: in order, without a gap after the rows that are there.
        nodes: (level, index) to 32 bytes, the new leaf hashes included.
        size: leaves after the append.
        tree_head: the signed note of that size.
        sequences: principal to its last sequence number.
    """

    rows: Sequence[Row]
    nodes: Mapping[Place, bytes]
    size: int
    tree_head: str
    sequences: Mapping[str, int]


class Appending(Protocol):
    """One append in progress: nobody else appends until it ends."""

    def tree_head(self) -> str | None:
        """The newest tree head, or None in a new store."""

    def size(self) -> int:
        """Rows in the store."""

    def nodes_at(self, places: Collection[Place]) -> dict[Place, bytes]:
        """Stored nodes of 32 bytes, by (level, index).

        Raises:
            IntegrityError: one is missing.
        """

    def sequence(self, principal: str) -> int:
        """A principal's last sequence number; 0 if it signed nothing yet."""

    def commit(self, batch: Batch) -> None:
        """Stores a batch, whole or not at all; durable on return. Called once.

        Raises:
            Conflict: a position, an entry id or a tree head is there already; nothing is stored.
            Unavailable: the batch could not be written; nothing is stored.
            OutcomeUnknown: it may be stored; look for an entry id to know.
        """


class LedgerStore(Protocol):
    """Rows, nodes, tree heads and sequence numbers of one log.

    Readers see only whole batches and never wait for a writer. Writers in any number
    of processes and threads take turns. Nothing is ever changed or removed. Every
    method raises Unavailable if the store does not answer (retry) and IntegrityError
    if what it stored cannot be read (stop).
    """

    def appending(self) -> AbstractContextManager[Appending]:
        """Waits for the turn to append. Leaving without a commit stores nothing.

        Raises:
            Unavailable: the turn did not come in time.
        """

    def size(self) -> int:
        """Rows in the store: the last position and one, or 0."""

    def rows(self, start: int, end: int) -> Iterator[Row]:
        """Rows from `start` to `end`, end exclusive, by position; missing ones are left out."""

    def find(self, entry_id: str) -> Row | None:
        """The row of an entry id."""

    def nodes_at(self, places: Collection[Place]) -> dict[Place, bytes]:
        """Stored nodes of 32 bytes, by (level, index).

        Raises:
            IntegrityError: one is missing.
        """

    def nodes(self) -> Iterator[tuple[int, int, bytes]]:
        """Every stored node as (level, index, hash), by level, then index."""

    def tree_head(self) -> str | None:
        """The newest tree head, or None in a new store."""

    def tree_heads(self) -> Iterator[tuple[int, str]]:
        """Every tree head as (size, note), by size."""

    def sequences(self) -> Mapping[str, int]:
        """Every principal's last sequence number."""

    def close(self) -> None:
        """Gives up files and connections; a closed store is not used again."""
