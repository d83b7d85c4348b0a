"""What of a version lies where, and how it comes back to hot."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lineage.errors import IntegrityError, NotFound, Unavailable
from storage_tiers.local import LocalStore
from storage_tiers.memory import MemoryStore
from storage_tiers.store import INCOMING
from storage_tiers.stored import measure, oid_name, store_name
from storage_tiers.tiers import Tiers, TierStatus


def flip_a_byte(store: LocalStore, name: str) -> None:
    path = store.path(name)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.chmod(0o644)
    path.write_bytes(data)
    path.chmod(0o444)


def test_the_address_is_where_dvc_keeps_the_bytes() -> None:
    md5 = "900150983cd24fb0d6963f7d28e17f72"
    assert oid_name(md5) == "files/md5/90/0150983cd24fb0d6963f7d28e17f72"
    assert oid_name(md5 + ".dir") == "files/md5/90/0150983cd24fb0d6963f7d28e17f72.dir"
    for wrong in ("", "abc", md5.upper(), md5 + ".x", "../" + md5, md5 + "\n"):
        with pytest.raises(IntegrityError, match="not an address"):
            oid_name(wrong)


def test_a_list_of_dvc_is_no_object_that_moves(shelf: Any) -> None:
    with pytest.raises(IntegrityError, match="names a folder"):
        store_name(replace(shelf.objs[0], md5=shelf.objs[0].md5 + ".dir"))


def test_one_pass_measures_size_and_both_digests(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    size_bytes, sha256, md5 = measure(tmp_path / "a")
    assert (size_bytes, md5) == (3, "900150983cd24fb0d6963f7d28e17f72")
    assert sha256.hex == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    with pytest.raises(NotFound, match="no such file"):
        measure(tmp_path)


def test_status_counts_both_tiers_and_names_what_is_missing(shelf: Any) -> None:
    first, second, third = shelf.objs
    shelf.hot.delete(store_name(first))
    for store in (shelf.hot, shelf.cold):
        store.delete(store_name(second))
    assert shelf.tiers.where(first) == {"cold"}
    assert shelf.tiers.where(second) == set()
    assert shelf.tiers.where(third) == {"hot", "cold"}
    expected = TierStatus(
        num_hot=1,
        hot_size_bytes=third.size_bytes,
        num_cold=2,
        cold_size_bytes=first.size_bytes + third.size_bytes,
        missing=(second.name,),
    )
    assert shelf.tiers.status(shelf.objs) == expected


def test_what_is_on_hot_is_opened_there_even_when_cold_is_away(shelf: Any, tmp_path: Path) -> None:
    obj = shelf.objs[0]
    tiers = Tiers(shelf.hot, LocalStore(tmp_path / "away"), os.urandom)
    assert tiers.path_on_hot(obj) == shelf.hot.path(store_name(obj))
    with pytest.raises(Unavailable, match="away"):
        tiers.status([obj])


def test_what_is_absent_on_hot_comes_back_verified(shelf: Any) -> None:
    obj = shelf.objs[0]
    shelf.hot.delete(store_name(obj))
    path = shelf.tiers.path_on_hot(obj)
    assert measure(path) == (obj.size_bytes, obj.sha256, obj.md5)
    assert path.stat().st_mode & 0o777 == 0o444
    assert shelf.tiers.verify(obj, "hot") is None


def test_cold_may_be_any_store(shelf: Any) -> None:
    obj = shelf.objs[0]
    cold = MemoryStore()
    cold.put(store_name(obj), shelf.hot.path(store_name(obj)))
    shelf.hot.delete(store_name(obj))
    tiers = Tiers(shelf.hot, cold, os.urandom)
    assert measure(tiers.path_on_hot(obj)).sha256 == obj.sha256


def test_many_readers_may_bring_back_the_same_object(shelf: Any) -> None:
    obj = shelf.objs[0]
    shelf.hot.delete(store_name(obj))
    found: list[object] = []
    threads = [
        threading.Thread(target=lambda: found.append(measure(shelf.tiers.path_on_hot(obj)).sha256))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [obj.sha256] * 8


def test_a_flipped_byte_on_cold_is_refused_and_nothing_comes_to_hot(shelf: Any) -> None:
    obj = shelf.objs[1]
    shelf.hot.delete(store_name(obj))
    flip_a_byte(shelf.cold, store_name(obj))
    with pytest.raises(IntegrityError, match=r"segment-0001/shard-1 .*on the cold tier"):
        shelf.tiers.path_on_hot(obj)
    assert not shelf.hot.exists(store_name(obj))
    assert list((shelf.hot.root / INCOMING).iterdir()) == []


def test_a_cut_object_is_refused_on_either_tier(shelf: Any) -> None:
    obj = shelf.objs[1]
    path = shelf.hot.path(store_name(obj))
    path.chmod(0o644)
    path.write_bytes(b"")
    with pytest.raises(IntegrityError, match="on the hot tier: the size is wrong"):
        shelf.tiers.path_on_hot(obj)
    finding = shelf.tiers.verify(obj, "hot")
    assert finding is not None
    assert finding.what == "the size is wrong"
    shelf.hot.delete(store_name(obj))
    cold_path = shelf.cold.path(store_name(obj))
    cold_path.chmod(0o644)
    cold_path.write_bytes(b"short")
    with pytest.raises(IntegrityError, match="on the cold tier: the size is wrong"):
        shelf.tiers.path_on_hot(obj)


def test_what_is_on_no_tier_is_not_found(shelf: Any) -> None:
    obj = shelf.objs[2]
    for store in (shelf.hot, shelf.cold):
        store.delete(store_name(obj))
    with pytest.raises(NotFound, match="segment-0001/shard-2 is on no tier"):
        shelf.tiers.path_on_hot(obj)


def test_verify_names_what_is_wrong_and_where(shelf: Any) -> None:
    first, second, third = shelf.objs
    flip_a_byte(shelf.cold, store_name(first))
    shelf.cold.delete(store_name(second))
    findings = [shelf.tiers.verify(obj, "cold") for obj in shelf.objs]
    assert [finding and finding.what for finding in findings] == [
        "the bytes are not those that were recorded",
        "the object is missing",
        None,
    ]
    assert findings[0] is not None
    assert first.name in findings[0].where
    assert shelf.tiers.verify(third, "hot") is None


def test_a_full_hot_tier_is_said_and_stays_as_it_was(shelf: Any, small_disk: Path) -> None:
    hot = LocalStore(small_disk)
    (small_disk / "filler").write_bytes(b"x" * 1_000_000)
    tiers = Tiers(hot, shelf.cold, os.urandom)
    with pytest.raises(Unavailable, match="the disk is full"):
        tiers.path_on_hot(shelf.objs[0])
    assert list(hot.names()) == ["filler"]
