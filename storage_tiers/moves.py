"""Moves between the tiers: copy, verify, record, and only then drop.

A move that stops anywhere leaves every object on at least one tier, verified; doing it
again finishes it. DVC's own lists (``.dir``) are never among the objects: they stay hot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from lineage.errors import NotFound
from lineage.manifests.storage import StoredObject
from storage_tiers.stored import store_name
from storage_tiers.tiers import Tiers


@dataclass(frozen=True, slots=True)
class Move:
    """One move as the ledger records it.

    Attributes:
        kind: ``promote`` (cold to hot) or ``demote`` (off hot).
        objects: those that move; never empty.
    """

    kind: Literal["promote", "demote"]
    objects: tuple[StoredObject, ...]

    @property
    def size_bytes(self) -> int:
        """Bytes of all objects together."""
        return sum(obj.size_bytes for obj in self.objects)


@dataclass(frozen=True, slots=True)
class MoveReport:
    """What a move did.

    Attributes:
        num_moved: objects that changed their tier.
        moved_size_bytes: their bytes.
        num_already: objects that were where they should be before.
    """

    num_moved: int
    moved_size_bytes: int
    num_already: int


def demote(
    objs: Sequence[StoredObject], tiers: Tiers, record: Callable[[Move], None]
) -> MoveReport:
    """Takes objects off hot once each has a verified copy on cold.

    Objects of which another version is still in use are the caller's to leave out: two
    versions share the objects that did not change.

    Args:
        record: writes the ledger entry; it is called once, before the first drop, and
            not at all when nothing is on hot. When it raises, nothing is dropped.

    Raises:
        NotFound: an object is on no tier; nothing is copied or dropped.
        IntegrityError: a copy on cold, or the only copy on hot, is wrong; nothing is dropped.
        Unavailable: a tier is full, read-only or away; nothing is dropped, unless hot
            itself refuses in the middle of dropping: demoting again goes on there.
    """
    move = Move("demote", _chosen(objs, tiers, on_hot=True))
    for obj in move.objects:
        _secure_on_cold(obj, tiers)
    # Crash up to here: some objects are on both tiers; nothing is recorded.
    if move.objects:
        record(move)
    # Crash from here on: the ledger has the move, and objects left on hot are on both
    # tiers; demoting again verifies, records and drops those.
    for obj in move.objects:
        tiers.hot.delete(store_name(obj))
    return _report(move, objs)


def promote(
    objs: Sequence[StoredObject], tiers: Tiers, record: Callable[[Move], None]
) -> MoveReport:
    """Brings objects back to hot, verified. Cold keeps its copies.

    There is nothing to drop: cold is the remote that plain DVC reads, and the only
    other place of the bytes.

    Args:
        record: writes the ledger entry; called once, when all objects are on hot, and
            not at all when they were there before.

    Raises:
        NotFound: an object is on no tier; nothing is copied.
        IntegrityError: bytes on cold are wrong; that object does not come to hot.
        Unavailable: hot is full or a tier is away; what came to hot before is whole.
    """
    move = Move("promote", _chosen(objs, tiers, on_hot=False))
    for obj in move.objects:
        tiers.path_on_hot(obj)
    # Crash up to here: what came to hot is whole but not recorded as promoted; a reader
    # that fetches what it needs does the same.
    if move.objects:
        record(move)
    return _report(move, objs)


def _chosen(
    objs: Sequence[StoredObject], tiers: Tiers, *, on_hot: bool
) -> tuple[StoredObject, ...]:
    """The objects that are on hot, or that are not; all must be somewhere."""
    # Equal bytes have one place: they move once.
    places = {store_name(obj): (obj, tiers.where(obj)) for obj in objs}
    for obj, names in places.values():
        if not names:
            raise NotFound(
                f"object {obj.name} is on no tier", "restore the cold tier from its backup"
            )
    return tuple(obj for obj, names in places.values() if ("hot" in names) == on_hot)


def _secure_on_cold(obj: StoredObject, tiers: Tiers) -> None:
    """Leaves a verified copy on cold.

    Raises:
        IntegrityError: the bytes on cold, or those on hot where cold has none, are wrong.
    """
    if not tiers.cold.exists(store_name(obj)):
        # Wrong bytes must not get the name on cold, where DVC would trust them for good.
        tiers.require(obj, "hot")
        tiers.cold.put(store_name(obj), tiers.hot.path(store_name(obj)))
    tiers.require(obj, "cold")


def _report(move: Move, objs: Sequence[StoredObject]) -> MoveReport:
    num_distinct = len({store_name(obj) for obj in objs})
    num_moved = len(move.objects)
    return MoveReport(num_moved, move.size_bytes, num_distinct - num_moved)
