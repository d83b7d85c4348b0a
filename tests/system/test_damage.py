"""One wrong bit anywhere is found by ``audit verify``, which names the thing and exits with 5."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lineage.errors import IntegrityError
from lineage.keys.sealing import Seal, open_parquet
from lineage.versions import manifest_paths
from storage_tiers.stored import store_name
from tests.system.world import DATASET, World, copy_world, flip, overwrite

pytestmark = pytest.mark.system
V1 = f"{DATASET}@v1"
OBJECTS = (
    "segment-0001/shard-00003.parquet",
    "segment-0001/spans-00003.parquet",
    "records/decisions-00000.parquet",
    "records/quarantine-00000.parquet",
    "records/partitions-00000.parquet",
)


@pytest.fixture(scope="session")
def _trained(_first_build: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Approved and read by a run, so that side objects and all kinds of entries are there."""
    from lineage.approvals import approve
    from lineage.versions import find_version

    world = copy_world(_first_build, tmp_path_factory.mktemp("trained") / "trained")
    with world.open() as workspace:
        approve(workspace, find_version(workspace.ledger.entries(), V1), "looked at by a person")
    world.samples()
    yield world
    shutil.rmtree(world.root)


@pytest.fixture
def trained(_trained: World, tmp_path: Path) -> World:
    return copy_world(_trained, tmp_path / "trained")


@pytest.fixture
def found(cli: Callable[..., Any]) -> Callable[[World], list[str]]:
    """Runs ``audit verify`` on what must not be sound; gives its findings."""

    def verify(world: World) -> list[str]:
        said = cli("audit", "verify", "--json", "-w", world.root)
        assert said.code == IntegrityError.exit_code
        answer = said.json["answer"]
        assert not answer["sound"]
        return [f"{item['where']}: {item['what']}" for item in answer["findings"]]

    return verify


def test_an_untouched_workspace_is_sound(trained: World, cli: Callable[..., Any]) -> None:
    said = cli("audit", "verify", "-w", trained.root)
    assert said.code == 0
    assert "result         sound" in said.out
    assert "self-attested" in said.out


@pytest.mark.parametrize("tier", ["hot", "cold"])
@pytest.mark.parametrize("name", OBJECTS)
def test_a_flipped_byte_of_an_object(
    name: str, tier: str, trained: World, found: Callable[[World], list[str]]
) -> None:
    with trained.read() as book:
        path = trained.path_of(book.object(name), tier)
    flip(path)
    assert f"object {name}" in found(trained)[0]
    assert f"on the {tier} tier" in found(trained)[0]


@pytest.mark.parametrize("place", ["first", "last"])
def test_a_flipped_byte_at_either_end_of_a_shard(
    place: str, trained: World, found: Callable[[World], list[str]]
) -> None:
    with trained.read() as book:
        path = trained.path_of(book.object(OBJECTS[0]), "hot")
    flip(path, 0 if place == "first" else -1)
    assert OBJECTS[0] in found(trained)[0]


def test_an_object_that_is_missing_on_both_tiers(
    trained: World, found: Callable[[World], list[str]]
) -> None:
    with trained.read() as book:
        stored = book.object(OBJECTS[2])
    for tier in ("hot", "cold"):
        trained.path_of(stored, tier).unlink()
    assert f"object {OBJECTS[2]}" in found(trained)[0]


@pytest.mark.parametrize("kind", ["content", "storage"])
def test_a_flipped_byte_of_a_manifest(
    kind: str, trained: World, found: Callable[[World], list[str]]
) -> None:
    paths = manifest_paths(trained.root / "manifests", DATASET, 1)
    flip(paths[kind == "storage"])
    (finding,) = found(trained)
    assert finding.startswith(f"version {V1}: ")


@pytest.mark.parametrize("position", [0, 9, "last"])
@pytest.mark.parametrize("column", ["leaf", "payload"])
def test_a_flipped_byte_of_a_ledger_entry(
    column: str, position: int | str, trained: World, found: Callable[[World], list[str]]
) -> None:
    with ledger(trained) as rows:
        (last,) = rows.execute("SELECT max(position) FROM entries").fetchone()
        position = last if position == "last" else position
        flip_value(rows, "entries", column, f"position = {position}")
    assert any(finding.startswith(f"entry {position}: ") for finding in found(trained))


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_a_flipped_byte_of_a_stored_node(
    level: int, trained: World, found: Callable[[World], list[str]]
) -> None:
    for index in ("min", "max"):
        with ledger(trained) as rows:
            (at,) = rows.execute(f"SELECT {index}(idx) FROM nodes WHERE level = {level}").fetchone()
            flip_value(rows, "nodes", "hash", f"level = {level} AND idx = {at}")
        findings = found(trained)
        assert any(f"node {level}/{at}: " in finding for finding in findings), findings


@pytest.mark.parametrize("size", ["0", "10", "(SELECT max(size) FROM tree_heads)"])
def test_a_changed_tree_head(
    size: str, trained: World, found: Callable[[World], list[str]]
) -> None:
    with ledger(trained) as rows:
        size = rows.execute(f"SELECT max(size) FROM tree_heads WHERE size <= {size}").fetchone()[0]
        (note,) = rows.execute(f"SELECT note FROM tree_heads WHERE size = {size}").fetchone()
        lines = note.split("\n")
        lines[-2] = lines[-2][:-4] + ("AAA=" if not lines[-2].endswith("AAA=") else "BBB=")
        rows.execute("UPDATE tree_heads SET note = ? WHERE size = ?", ("\n".join(lines), size))
    findings = found(trained)
    assert any(finding.startswith(f"tree head {size}: ") for finding in findings), findings


def test_a_changed_tree_head_beside_the_ledger(
    trained: World, found: Callable[[World], list[str]]
) -> None:
    beside = trained.root / "treehead"
    kept = beside.read_bytes()
    changed = bytearray(kept)
    changed[len(kept) // 2] ^= 1
    for data in (b"", b"\xff\xfe", bytes(changed), kept[:-20]):
        beside.write_bytes(data)
        assert found(trained)[0].startswith("ledger: the remembered tree head: ")


def test_a_tree_head_that_was_taken_away(
    trained: World, found: Callable[[World], list[str]]
) -> None:
    (trained.root / "treehead").unlink()
    assert any(line.startswith("treehead:") for line in found(trained))


@pytest.mark.parametrize("tier", ["hot", "cold"])
def test_a_flipped_byte_of_each_list_of_dvc(
    trained: World, found: Callable[[World], list[str]], tier: str
) -> None:
    lists = sorted((trained.root / ".shardline" / tier).rglob("*.dir"))
    assert len(lists) == 2
    for path in lists:
        flip(path)
    findings = found(trained)
    for name in ("segment-0001.dvc", "records-v0001.dvc"):
        assert any(name in line and f"{tier} tier" in line for line in findings)


def test_a_ledger_whose_tail_was_cut_is_not_the_one_that_the_tree_head_beside_it_knew(
    trained: World, found: Callable[[World], list[str]], _first_build: World
) -> None:
    beside = trained.root / "treehead"
    with trained.open() as workspace:
        beside.write_text(workspace.ledger.tree_head(), encoding="utf-8")
    # An older copy of the whole state, as a backup would bring it back.
    shutil.copy(_first_build.root / ".shardline/ledger.db", trained.root / ".shardline/ledger.db")
    shutil.copy(_first_build.root / ".shardline/keys.db", trained.root / ".shardline/keys.db")
    (finding,) = found(trained)
    assert "an older copy or a cut" in finding


@pytest.mark.parametrize("which", ["the ledger's", "an object's", "a salt"])
def test_a_flipped_byte_of_a_wrapped_key(
    which: str, trained: World, found: Callable[[World], list[str]]
) -> None:
    with trained.read() as book:
        ids = {
            "an object's": book.object(OBJECTS[0]).object_id.hex(),
            "a salt": book.content.segments[0].salt_object,
        }
    chosen = {"the ledger's": "zone = 'system' AND dataset = 'ledger'"}
    chosen |= {name: f"hex(object_id) = '{value.upper()}'" for name, value in ids.items()}
    with closing(sqlite3.connect(trained.root / ".shardline/keys.db")) as rows, rows:
        (key_id,) = rows.execute(f"SELECT key_id FROM keys WHERE {chosen[which]}").fetchone()
        flip_value(rows, "keys", "wrapped", f"key_id = '{key_id}'")
    assert any(f"key {key_id}" in finding for finding in found(trained))


def test_a_key_row_that_was_taken_out(trained: World, found: Callable[[World], list[str]]) -> None:
    with closing(sqlite3.connect(trained.root / ".shardline/keys.db")) as rows, rows:
        rows.execute("DELETE FROM keys WHERE ordinal = 7")
    assert any(finding.startswith("key table: ") for finding in found(trained))


def test_a_flipped_byte_of_each_side_object(
    trained: World, found: Callable[[World], list[str]]
) -> None:
    with trained.open() as workspace:
        entries = list(workspace.ledger.entries(predicates={"approval", "run"}))
    assert {entry.predicate for entry in entries} == {"approval", "run"}
    for path in (trained.root / ".shardline/side").iterdir():
        flip(path)
    findings = found(trained)
    assert [finding.partition(":")[0] for finding in findings] == [
        f"entry {entry.position}" for entry in entries
    ]


def test_two_shards_that_changed_places_are_refused_by_name(
    trained: World, found: Callable[[World], list[str]]
) -> None:
    names = ("segment-0001/shard-00001.parquet", "segment-0001/shard-00004.parquet")
    for tier in ("hot", "cold"):
        swap(trained, names, tier)
    findings = "\n".join(found(trained))
    for name in names:
        assert f"object {name}" in findings
    with pytest.raises(IntegrityError, match=r"shard corpus@v1/segment-0001/shard-0000[14]"):
        trained.samples()


def test_a_shard_in_the_place_of_another_never_opens_even_at_equal_size(trained: World) -> None:
    with trained.read() as book:
        one, two = (book.object(name) for name in ("segment-0001/shard-00001.parquet", OBJECTS[0]))
        seal = book.reading.lease(DATASET).seal(one.object_id)
    with pytest.raises(IntegrityError, match=one.object_id.hex()):
        open_parquet(trained.path_of(two, "hot"), seal)
    stranger = Seal(seal.workspace_id, two.object_id, seal.key)
    with pytest.raises(IntegrityError, match=two.object_id.hex()):
        open_parquet(trained.path_of(one, "hot"), stranger)


def test_another_wrapping_key_is_refused_with_one_clear_error(
    trained: World, cli: Callable[..., Any]
) -> None:
    overwrite(trained.root / ".shardline/keys/wrapping.key", b"5a" * 32 + b"\n")
    (trained.root / ".shardline/keys/wrapping.key").chmod(0o600)
    for command in (("versions",), ("audit", "runs"), ("tier", "status", V1)):
        said = cli(*command, "-w", trained.root)
        assert said.code == IntegrityError.exit_code
        assert said.out == ""
        assert "wrong wrapping key" in said.err
        assert len(said.err.splitlines()) <= 2
    said = cli("audit", "verify", "--json", "-w", trained.root)
    assert said.code == IntegrityError.exit_code
    assert "wrong wrapping key" in said.json["answer"]["findings"][0]["what"]


def test_a_feed_repairs_a_bad_shard_on_hot_from_cold(trained: World) -> None:
    before = trained.samples()
    with trained.read() as book:
        stored = book.object(OBJECTS[0])
    hot, cold = (trained.path_of(stored, tier) for tier in ("hot", "cold"))
    assert hot.stat().st_ino != cold.stat().st_ino
    for place in np.linspace(0, stored.size_bytes - 1, 4, dtype=int):
        flip(hot, int(place))
        assert trained.samples() == before
    overwrite(hot, hot.read_bytes()[:-100])
    assert trained.samples() == before
    assert hot.read_bytes() == cold.read_bytes()
    assert trained.verify() == []


def test_a_feed_stops_with_the_name_of_a_shard_that_is_bad_everywhere(trained: World) -> None:
    with trained.read() as book:
        stored = book.object(OBJECTS[0])
    for tier in ("hot", "cold"):
        flip(trained.path_of(stored, tier), 400)
    with pytest.raises(IntegrityError, match=f"{V1}/{OBJECTS[0]}"):
        trained.samples()


def swap(world: World, names: tuple[str, str], tier: str) -> None:
    with world.read() as book:
        one, two = (world.path_of(book.object(name), tier) for name in names)
        assert store_name(book.object(names[0])) != store_name(book.object(names[1]))
    first, second = one.read_bytes(), two.read_bytes()
    overwrite(one, second)
    overwrite(two, first)


def ledger(world: World) -> Any:
    """The ledger's file, open to whoever can write it."""
    return _Rows(world.root / ".shardline/ledger.db")


class _Rows:
    def __init__(self, path: Path) -> None:
        self._rows = sqlite3.connect(path)

    def __enter__(self) -> sqlite3.Connection:
        return self._rows

    def __exit__(self, *_: object) -> None:
        self._rows.commit()
        self._rows.close()


def flip_value(rows: sqlite3.Connection, table: str, column: str, where: str) -> None:
    """Flips one bit in the middle of one stored value."""
    (value,) = rows.execute(f"SELECT {column} FROM {table} WHERE {where}").fetchone()
    changed = bytearray(value)
    changed[len(changed) // 2] ^= 1
    done = rows.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (bytes(changed),))
    assert done.rowcount == 1
