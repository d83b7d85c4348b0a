"""Moves: copy, verify, record, then drop."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lineage.errors import IntegrityError, NotFound, OutcomeUnknown, Unavailable
from storage_tiers.local import LocalStore
from storage_tiers.moves import Move, MoveReport, demote, promote
from storage_tiers.stored import store_name
from storage_tiers.tiers import Tiers


def total(objs: Any) -> int:
    return sum(obj.size_bytes for obj in objs)


def test_demote_and_promote_bring_everything_back_where_it_was(shelf: Any) -> None:
    moves: list[Move] = []
    report = demote(shelf.objs, shelf.tiers, moves.append)
    assert report == MoveReport(3, total(shelf.objs), 0)
    assert shelf.bytes_on_hot() == [False] * 3
    report = promote(shelf.objs, shelf.tiers, moves.append)
    assert report == MoveReport(3, total(shelf.objs), 0)
    assert shelf.bytes_on_hot() == [True] * 3
    assert [(move.kind, move.objects) for move in moves] == [
        ("demote", shelf.objs),
        ("promote", shelf.objs),
    ]
    assert moves[0].size_bytes == total(shelf.objs)
    for obj in shelf.objs:
        assert shelf.tiers.verify(obj, "hot") is shelf.tiers.verify(obj, "cold") is None


def test_a_move_with_nothing_to_do_records_nothing(shelf: Any) -> None:
    moves: list[Move] = []
    assert promote(shelf.objs, shelf.tiers, moves.append) == MoveReport(0, 0, 3)
    demote(shelf.objs[:1], shelf.tiers, lambda _: None)
    assert demote(shelf.objs[:1], shelf.tiers, moves.append) == MoveReport(0, 0, 1)
    assert demote([], shelf.tiers, moves.append) == MoveReport(0, 0, 0)
    assert moves == []


def test_objects_of_equal_bytes_move_once(shelf: Any) -> None:
    twin = replace(shelf.objs[0], name="segment-0002/twin")
    report = demote([*shelf.objs, twin], shelf.tiers, lambda _: None)
    assert report == MoveReport(3, total(shelf.objs), 0)


def test_demote_copies_to_cold_what_cold_lacks(shelf: Any) -> None:
    shelf.cold.delete(store_name(shelf.objs[1]))
    demote(shelf.objs, shelf.tiers, lambda _: None)
    assert shelf.tiers.verify(shelf.objs[1], "cold") is None


def test_the_move_is_recorded_before_the_first_drop(shelf: Any) -> None:
    seen: list[list[bool]] = []
    demote(shelf.objs, shelf.tiers, lambda _: seen.append(shelf.bytes_on_hot()))
    assert seen == [[True] * 3]


def test_a_record_that_fails_drops_nothing(shelf: Any) -> None:
    def refuse(_: Move) -> None:
        raise OutcomeUnknown("the ledger did not answer")

    with pytest.raises(OutcomeUnknown):
        demote(shelf.objs, shelf.tiers, refuse)
    assert shelf.bytes_on_hot() == [True] * 3


def damage(store: LocalStore, name: str) -> None:
    path = store.path(name)
    data = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(data[:-1] + b"?")


def test_a_flipped_byte_on_cold_keeps_everything_on_hot(shelf: Any) -> None:
    damage(shelf.cold, store_name(shelf.objs[2]))
    with pytest.raises(IntegrityError, match=r"shard-2 .*cold tier"):
        demote(shelf.objs, shelf.tiers, lambda _: None)
    assert shelf.bytes_on_hot() == [True] * 3


def test_wrong_bytes_on_hot_never_reach_cold(shelf: Any) -> None:
    shelf.cold.delete(store_name(shelf.objs[0]))
    damage(shelf.hot, store_name(shelf.objs[0]))
    with pytest.raises(IntegrityError, match=r"shard-0 .*hot tier"):
        demote(shelf.objs, shelf.tiers, lambda _: None)
    assert not shelf.cold.exists(store_name(shelf.objs[0]))


def test_promote_refuses_wrong_bytes_and_records_nothing(shelf: Any) -> None:
    demote(shelf.objs, shelf.tiers, lambda _: None)
    damage(shelf.cold, store_name(shelf.objs[1]))
    moves: list[Move] = []
    with pytest.raises(IntegrityError, match=r"shard-1 .*cold tier"):
        promote(shelf.objs, shelf.tiers, moves.append)
    assert shelf.bytes_on_hot() == [True, False, False]
    assert moves == []


@pytest.mark.parametrize("move", [demote, promote])
def test_what_is_on_no_tier_stops_the_move_before_it_starts(
    shelf: Any, move: Callable[..., MoveReport]
) -> None:
    for store in (shelf.hot, shelf.cold):
        store.delete(store_name(shelf.objs[1]))
    before = shelf.bytes_on_hot()
    with pytest.raises(NotFound, match="shard-1 is on no tier"):
        move(shelf.objs, shelf.tiers, lambda _: None)
    assert shelf.bytes_on_hot() == before


def test_a_full_cold_tier_is_one_error_and_drops_nothing(shelf: Any, small_disk: Path) -> None:
    (small_disk / "filler").write_bytes(b"x" * 950_000)
    tiers = Tiers(shelf.hot, LocalStore(small_disk), os.urandom)
    with pytest.raises(Unavailable, match=r"disk: the disk is full \(free room"):
        demote(shelf.objs, tiers, lambda _: None)
    assert shelf.bytes_on_hot() == [True] * 3
    (small_disk / "filler").unlink()
    assert demote(shelf.objs, tiers, lambda _: None).num_moved == 3


def test_a_read_only_cold_tier_is_one_error_and_drops_nothing(
    shelf: Any, small_disk: Path, read_only: Callable[[Path], None]
) -> None:
    read_only(small_disk)
    tiers = Tiers(shelf.hot, LocalStore(small_disk), os.urandom)
    with pytest.raises(Unavailable, match="disk: cannot be written"):
        demote(shelf.objs, tiers, lambda _: None)
    assert shelf.bytes_on_hot() == [True] * 3


KILLED = """
import os, signal, sys
from pathlib import Path
from lineage.digest import Digest
from lineage.manifests.storage import StoredObject
from storage_tiers.local import LocalStore
from storage_tiers.moves import demote, promote
from storage_tiers.tiers import Tiers

hot, cold, kind, moment, *rows = sys.argv[1:]
objs = []
for row in rows:
    name, size, sha256, md5 = row.split("|")
    objs.append(StoredObject(name, bytes(16), "key", int(size), Digest.parse(sha256), md5))

def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)

class Dying(LocalStore):
    # Dies on its second call, as a machine may in the middle of a move.
    calls = 0
    def delete(self, name):
        if Dying.calls and moment == "dropping":
            kill()
        Dying.calls += 1
        super().delete(name)
    def adopt(self, name, temp):
        if Dying.calls and moment == "arriving":
            kill()
        Dying.calls += 1
        super().adopt(name, temp)

tiers = Tiers(Dying(Path(hot)), LocalStore(Path(cold)), os.urandom)
record = kill if moment == "recording" else lambda move: None
{"demote": demote, "promote": promote}[kind](objs, tiers, record)
"""


@pytest.mark.parametrize(
    ("kind", "moment", "left_on_hot"),
    [
        ("demote", "recording", 3),
        ("demote", "dropping", 2),
        ("promote", "arriving", 1),
        ("promote", "recording", 3),
    ],
)
def test_a_killed_move_loses_nothing_and_is_finished_by_doing_it_again(
    shelf: Any, kind: str, moment: str, left_on_hot: int
) -> None:
    if kind == "promote":
        demote(shelf.objs, shelf.tiers, lambda _: None)
    rows = [f"{obj.name}|{obj.size_bytes}|{obj.sha256}|{obj.md5}" for obj in shelf.objs]
    folders = [str(shelf.hot.root), str(shelf.cold.root)]
    command = [sys.executable, "-c", KILLED, *folders, kind, moment, *rows]
    assert subprocess.run(command, check=False).returncode == -9
    assert sum(shelf.bytes_on_hot()) == left_on_hot
    assert [shelf.tiers.verify(obj, "cold") for obj in shelf.objs] == [None] * 3
    {"demote": demote, "promote": promote}[kind](shelf.objs, shelf.tiers, lambda _: None)
    assert shelf.bytes_on_hot() == [kind == "promote"] * 3
