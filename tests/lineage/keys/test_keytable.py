"""The key table: only added to, and committed by the ledger with its size and root."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.errors import Conflict, IntegrityError, NotFound, Unavailable
from lineage.keys.keytable import KeyTable, KeyTableHead, WrappedKey, committed_head
from lineage.keys.minting import KeyMinter, derived_seal
from lineage.keys.wrapping import FileWrappingKey, KeyUse
from lineage.ledger.entry import Entry
from lineage.ledger.merkle import leaf_hash, root_of

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "keys.json").read_text())
ADDS_ROWS_UNTIL_KILLED = """
import os, pathlib, sys
from tests.lineage.keys.test_keytable import rows_of
from lineage.keys.keytable import KeyTable
table = KeyTable.open(pathlib.Path(sys.argv[1]))
while True:
    table.add(rows_of(3))
    print("added", flush=True)
"""


def frozen_rows() -> list[WrappedKey]:
    return [
        WrappedKey(
            KeyUse(v["key_id"], bytes.fromhex(v["object_id"]), v["dataset"], v["zone"]),
            VECTORS["wrapping_key_id"],
            bytes.fromhex(v["wrapped"]),
        )
        for v in VECTORS["wraps"]
    ]


def rows_of(count: int) -> list[WrappedKey]:
    return [
        WrappedKey(KeyUse(os.urandom(16).hex(), os.urandom(16), "corpus", "raw"), "w", b"wrapped")
        for _ in range(count)
    ]


@pytest.fixture
def table(tmp_path: Path) -> Iterator[KeyTable]:
    made = KeyTable.create(tmp_path / "keys.db")
    yield made
    made.close()


def entry(size: int | None, root: str = "sha256:" + "ab" * 32) -> Entry:
    body: dict[str, Any] = {} if size is None else {"key_table": {"size": str(size), "root": root}}
    return cast(Entry, SimpleNamespace(body=body))


@pytest.mark.parametrize("number", range(3))
def test_the_leaf_of_a_row_is_frozen(number: int) -> None:
    assert frozen_rows()[number].leaf().hex() == VECTORS["wraps"][number]["leaf_data"]


def test_the_root_of_a_table_is_frozen_at_each_size(table: KeyTable) -> None:
    table.add(frozen_rows())
    heads = [table.head(vector["size"]) for vector in VECTORS["table_roots"]]
    assert [(head.size, str(head.root)) for head in heads] == [
        (vector["size"], vector["root"]) for vector in VECTORS["table_roots"]
    ]
    assert table.head() == heads[-1]


def test_rows_come_back_in_the_order_in_which_they_were_added(table: KeyTable) -> None:
    first, second = rows_of(3), rows_of(2)
    table.add(first)
    table.add(second)
    table.add([])
    assert list(table.rows()) == [*first, *second]
    assert list(table.rows(4)) == [*first, second[0]]


def test_a_table_is_there_again_after_it_was_closed(tmp_path: Path) -> None:
    made, rows = KeyTable.create(tmp_path / "keys.db"), rows_of(2)
    made.add(rows)
    made.close()
    opened = KeyTable.open(tmp_path / "keys.db")
    assert list(opened.rows()) == rows
    opened.close()


def test_a_table_is_never_made_twice_nor_by_opening(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="the key table is missing"):
        KeyTable.open(tmp_path / "keys.db")
    assert not list(tmp_path.iterdir())
    KeyTable.create(tmp_path / "keys.db").close()
    with pytest.raises(Conflict, match="is there already"):
        KeyTable.create(tmp_path / "keys.db")


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "keys.db").write_bytes(b"something else" * 100)
    with pytest.raises(IntegrityError, match="not readable as a key table"):
        KeyTable.open(tmp_path / "keys.db")
    (tmp_path / "empty.db").write_bytes(b"")
    with pytest.raises(IntegrityError, match="not a key table"):
        KeyTable.open(tmp_path / "empty.db")


def test_a_disk_that_does_not_answer_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"keys\.db"):
        KeyTable.create(tmp_path / "missing" / "keys.db")


@pytest.mark.parametrize("twice", ["key_id", "object_id"])
def test_a_key_or_object_that_is_there_already_is_a_conflict_and_adds_nothing(
    table: KeyTable, twice: str
) -> None:
    known, other = rows_of(2)
    table.add([known])
    same = replace(other, use=replace(other.use, **{twice: getattr(known.use, twice)}))
    with pytest.raises(Conflict, match="holds such a key or object already") as caught:
        table.add([*rows_of(2), same])
    assert list(table.rows()) == [known]
    assert "wrapped" not in str(caught.value)


@pytest.mark.parametrize("count", [0, 1, 499, 500, 501, 1203])
def test_many_objects_are_found_at_once_and_unknown_ones_left_out(
    table: KeyTable, count: int
) -> None:
    rows = rows_of(count)
    table.add(rows)
    wanted = [row.use.object_id for row in rows] + [b"unknown object.."]
    assert table.of_objects(iter(wanted)) == {row.use.object_id: row for row in rows}


def test_the_newest_key_of_the_workspace_itself_is_taken(table: KeyTable) -> None:
    wrapping = FileWrappingKey(bytes(32), os.urandom)
    minter = KeyMinter(b"w" * 16, wrapping, os.urandom)
    old, new = (minter.mint("ledger", "system")[1] for _ in range(2))
    table.add([old, new, minter.mint("ledger", "processed")[1]])
    assert table.system("ledger") == new
    with pytest.raises(NotFound, match="holds no ids key"):
        table.system("ids")


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 9), st.integers(0, 9))
def test_a_head_of_some_rows_is_that_of_a_table_that_was_cut_there(count: int, size: int) -> None:
    rows = rows_of(count)
    table = KeyTable.create(Path(f"/dev/shm/keys-{os.urandom(8).hex()}.db"))
    try:
        table.add(rows)
        expected = table.head(size)
        kept = rows[:size]
        assert expected.root.raw == root_of([leaf_hash(row.leaf()) for row in kept])
        assert table.cut(size) == max(0, count - size)
        assert list(table.rows()) == kept
        assert table.head() == expected
        table.add(rows[size:])
        assert list(table.rows()) == rows
    finally:
        table.close()
        for path in Path("/dev/shm").glob(Path(str(table._engine.url.database)).name + "*"):
            path.unlink()


def test_the_newest_committed_head_is_found() -> None:
    head = committed_head([entry(3), entry(None), entry(5), entry(None)])
    assert head == KeyTableHead(5, head.root)
    with pytest.raises(IntegrityError, match="no ledger entry commits a key table"):
        committed_head([entry(None)])


def test_a_kill_while_rows_are_added_leaves_whole_transactions(tmp_path: Path) -> None:
    KeyTable.create(tmp_path / "keys.db").close()
    adding = subprocess.Popen(
        [sys.executable, "-c", ADDS_ROWS_UNTIL_KILLED, str(tmp_path / "keys.db")],
        cwd=Path(__file__).parents[3],
        stdout=subprocess.PIPE,
    )
    assert adding.stdout is not None
    for _ in range(4):
        adding.stdout.readline()
    adding.kill()
    adding.communicate()
    table = KeyTable.open(tmp_path / "keys.db")
    rows = list(table.rows())
    assert len(rows) >= 12
    assert len(rows) % 3 == 0
    table.add(rows_of(1))
    table.close()


def test_minted_keys_differ_and_their_rows_open_them(table: KeyTable) -> None:
    wrapping = FileWrappingKey(bytes(32), os.urandom)
    minter = KeyMinter(b"w" * 16, wrapping, os.urandom)
    minted = [minter.mint("corpus", "processed") for _ in range(5)]
    table.add([row for _, row in minted])
    assert len({seal.key for seal, _ in minted}) == len({seal.object_id for seal, _ in minted}) == 5
    for seal, row in minted:
        assert (seal.workspace_id, row.use.object_id) == (b"w" * 16, seal.object_id)
        assert (row.use.dataset, row.use.zone) == ("corpus", "processed")
        assert row.wrapping_key_id == wrapping.id
        assert wrapping.unwrap(row.wrapped, row.use) == seal.key
        assert seal.key not in row.wrapped


@pytest.mark.parametrize("vector", VECTORS["stage_keys"])
def test_the_keys_of_stage_files_are_derived_as_rfc_5869_says(vector: dict[str, str]) -> None:
    names = ("workspace_id", "object_id", "stage_key")
    workspace_id, object_id, stage_key = (bytes.fromhex(vector[name]) for name in names)
    seal = derived_seal(workspace_id, object_id, stage_key)
    assert seal.key.hex() == vector["key"]
    assert derived_seal(workspace_id, b"p" * 16, stage_key).key != seal.key
    assert derived_seal(b"v" * 16, object_id, stage_key).key != seal.key
    assert derived_seal(workspace_id, object_id, bytes(32)).key != seal.key
