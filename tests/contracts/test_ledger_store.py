"""What every ledger store promises; one suite over all of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from lineage.errors import Conflict, IntegrityError
from lineage.ledger.memory import MemoryLedgerStore
from lineage.ledger.merkle import Place
from lineage.ledger.sqlite import SqliteLedgerStore
from lineage.ledger.store import Batch, LedgerStore, Row


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LedgerStore]:
    opened: LedgerStore = MemoryLedgerStore()
    if request.param == "sqlite":
        opened = SqliteLedgerStore.create(tmp_path / "ledger.sqlite")
    yield opened
    opened.close()


def row(position: int) -> Row:
    return Row(position, f"{position:032x}", b"leaf %d" % position, b"payload %d" % position)


def batch(
    start: int,
    num_rows: int,
    sequences: Mapping[str, int] | None = None,
    nodes: Mapping[Place, bytes] | None = None,
) -> Batch:
    size = start + num_rows
    rows = [row(position) for position in range(start, size)]
    grown = {(0, position): b"%032d" % position for position in range(start, size)}
    return Batch(rows, {**grown, **(nodes or {})}, size, f"head {size}\n", sequences or {})


def append(store: LedgerStore, added: Batch) -> None:
    with store.appending() as appending:
        appending.commit(added)


def contents(store: LedgerStore) -> tuple[object, ...]:
    rows = list(store.rows(0, store.size()))
    return rows, list(store.nodes()), list(store.tree_heads()), store.sequences()


def test_a_new_store_is_empty(store: LedgerStore) -> None:
    assert store.size() == 0
    assert store.tree_head() is None
    assert contents(store) == ([], [], [], {})


def test_what_was_stored_reads_back_in_order(store: LedgerStore) -> None:
    append(store, batch(0, 2, {"a": 2}))
    append(store, batch(2, 1, {"a": 3, "b": 1}, {(1, 0): b"n" * 32}))
    assert store.size() == 3
    assert list(store.rows(0, 3)) == [row(0), row(1), row(2)]
    assert list(store.rows(1, 2)) == [row(1)]
    assert list(store.rows(2, 99)) == [row(2)]
    assert store.tree_head() == "head 3\n"
    assert list(store.tree_heads()) == [(2, "head 2\n"), (3, "head 3\n")]
    assert store.sequences() == {"a": 3, "b": 1}
    assert [node[:2] for node in store.nodes()] == [(0, 0), (0, 1), (0, 2), (1, 0)]


def test_many_rows_read_back_whole(store: LedgerStore) -> None:
    append(store, batch(0, 1100))
    assert [found.position for found in store.rows(0, 1100)] == list(range(1100))
    assert [index for _, index, _ in store.nodes()] == list(range(1100))


def test_entries_are_found_by_id(store: LedgerStore) -> None:
    append(store, batch(0, 3))
    assert store.find(row(1).entry_id) == row(1)
    assert store.find("f" * 32) is None


def test_nodes_are_given_by_place_and_a_missing_one_is_named(store: LedgerStore) -> None:
    append(store, batch(0, 2))
    assert store.nodes_at([(0, 1), (0, 0)]) == {(0, 0): b"%032d" % 0, (0, 1): b"%032d" % 1}
    assert store.nodes_at([]) == {}
    with pytest.raises(IntegrityError, match="node 4/2"):
        store.nodes_at([(0, 1), (4, 2)])


def test_a_writer_sees_what_is_stored(store: LedgerStore) -> None:
    append(store, batch(0, 2, {"a": 2}))
    with store.appending() as appending:
        assert appending.size() == 2
        assert appending.tree_head() == "head 2\n"
        assert (appending.sequence("a"), appending.sequence("new")) == (2, 0)
        assert appending.nodes_at([(0, 1)]) == {(0, 1): b"%032d" % 1}


def test_leaving_without_a_commit_stores_nothing(store: LedgerStore) -> None:
    append(store, batch(0, 1))
    before = contents(store)
    with pytest.raises(KeyError), store.appending() as appending:
        assert appending.size() == 1
        raise KeyError
    with store.appending():
        pass
    assert contents(store) == before
    append(store, batch(1, 1))


@pytest.mark.parametrize(
    "refused",
    [
        batch(0, 2),
        batch(3, 1),
        Batch([Row(2, row(0).entry_id, b"", b"")], {}, 3, "head 3\n", {}),
        Batch([], {}, 2, "another head\n", {}),
    ],
    ids=["position taken", "gap", "entry id taken", "tree head taken"],
)
def test_a_conflict_stores_nothing_of_the_batch(store: LedgerStore, refused: Batch) -> None:
    append(store, batch(0, 2, {"a": 2}))
    before = contents(store)
    with pytest.raises(Conflict):
        append(store, refused)
    assert contents(store) == before


def test_writers_take_turns(store: LedgerStore) -> None:
    def write() -> None:
        for _ in range(5):
            with store.appending() as appending:
                size = appending.size()
                appending.commit(batch(size, 1, {"a": appending.sequence("a") + 1}))

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.size() == 20
    assert store.sequences() == {"a": 20}


def test_readers_do_not_wait_for_a_writer(store: LedgerStore) -> None:
    append(store, batch(0, 1))
    with store.appending() as appending:
        assert appending.size() == 1
        assert list(store.rows(0, 9)) == [row(0)]
        assert store.tree_head() == "head 1\n"
