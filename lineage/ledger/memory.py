"""A ledger store in memory: for tests and trials. Nothing outlives the process."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from lineage.errors import Conflict, IntegrityError
from lineage.ledger.merkle import Place
from lineage.ledger.store import Appending, Batch, Row


class MemoryLedgerStore:
    """Keeps the promises of `LedgerStore`, except that nothing is durable."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._rows: list[Row] = []
        self._positions: dict[str, int] = {}
        self._nodes: dict[Place, bytes] = {}
        self._tree_heads: dict[int, str] = {}
        self._sequences: dict[str, int] = {}

    @contextmanager
    def appending(self) -> Iterator[Appending]:
        """Waits for the turn to append."""
        with self._turn:
            yield self

    def sequence(self, principal: str) -> int:
        """A principal's last sequence number; 0 if it signed nothing yet."""
        return self._sequences.get(principal, 0)

    def commit(self, batch: Batch) -> None:
        """Stores a batch, whole or not at all.

        Raises:
            Conflict: a position, an entry id or a tree head is there already.
        """
        size = len(self._rows)
        gapless = [row.position for row in batch.rows] == list(range(size, size + len(batch.rows)))
        known = any(row.entry_id in self._positions for row in batch.rows)
        if not gapless or known or batch.size in self._tree_heads:
            raise Conflict("the ledger holds an entry of this position or id already")
        self._nodes.update(batch.nodes)
        self._positions.update((row.entry_id, row.position) for row in batch.rows)
        self._sequences.update(batch.sequences)
        self._tree_heads[batch.size] = batch.tree_head
        self._rows.extend(batch.rows)

    def size(self) -> int:
        """Rows in the store."""
        return len(self._rows)

    def rows(self, start: int, end: int) -> Iterator[Row]:
        """Rows from `start` to `end`, end exclusive."""
        yield from self._rows[start:end]

    def find(self, entry_id: str) -> Row | None:
        """The row of an entry id."""
        position = self._positions.get(entry_id)
        return None if position is None else self._rows[position]

    def nodes_at(self, places: Collection[Place]) -> dict[Place, bytes]:
        """Stored nodes of 32 bytes, by (level, index).

        Raises:
            IntegrityError: one is missing.
        """
        for level, index in places:
            if (level, index) not in self._nodes:
                raise IntegrityError(f"node {level}/{index} of the ledger is missing")
        return {place: self._nodes[place] for place in places}

    def nodes(self) -> Iterator[tuple[int, int, bytes]]:
        """Every stored node as (level, index, hash), by level, then index."""
        for (level, index), hashed in sorted(self._nodes.items()):
            yield level, index, hashed

    def tree_head(self) -> str | None:
        """The newest tree head, or None in a new store."""
        return self._tree_heads[max(self._tree_heads)] if self._tree_heads else None

    def tree_heads(self) -> Iterator[tuple[int, str]]:
        """Every tree head as (size, note), by size."""
        yield from sorted(self._tree_heads.items())

    def sequences(self) -> Mapping[str, int]:
        """Every principal's last sequence number."""
        return dict(self._sequences)

    def close(self) -> None:
        """Nothing to give up."""
