"""A sound ledger gives no finding; every change gives one that names the place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lineage.errors import IntegrityError
from lineage.finding import Finding
from lineage.ledger import merkle
from lineage.ledger.draft import row_of
from lineage.ledger.entry import Entry
from lineage.ledger.envelope import Signer
from lineage.ledger.history import PrincipalKey, Trust
from lineage.ledger.log import Ledger
from lineage.ledger.memory import MemoryLedgerStore
from lineage.ledger.sqlite import SqliteLedgerStore
from lineage.ledger.store import Batch
from lineage.ledger.treehead import parse_tree_head, sign_tree_head
from lineage.ledger.verify import verify_ledger
from tests.lineage.ledger.world import (
    BUILDER,
    LEDGER_KEY,
    LOG_ID,
    LOG_SIGNER,
    OWNER,
    TRUST,
    Chance,
    begun,
    draft,
    private_key,
    reopened,
)

NUM_ENTRIES = 7
STRANGER = Signer("stranger", private_key(7))


def filled(store: SqliteLedgerStore | MemoryLedgerStore) -> Ledger:
    ledger = begun(store)
    ledger.append([draft()])
    ledger.append([draft(signer=OWNER), draft("run"), draft("move")])
    ledger.append([draft(), draft(signer=OWNER)])
    ledger.append([draft("export")])
    return ledger


@pytest.fixture(scope="module")
def sqlite_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteLedgerStore]:
    store = SqliteLedgerStore.create(tmp_path_factory.mktemp("verify") / "ledger.sqlite")
    filled(store)
    yield store
    store.close()


def places(findings: list[Finding]) -> set[str]:
    return {finding.where for finding in findings}


def changed(store: SqliteLedgerStore, ledger: Ledger, *statements: str) -> list[Finding]:
    """Findings while the statements are applied; everything is put back afterwards."""
    path = store._path
    copy = path.with_name("changed.sqlite")
    with store._engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    copy.write_bytes(path.read_bytes())
    damaged = SqliteLedgerStore(copy)
    with damaged._engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    try:
        return verify_ledger(on(damaged, ledger), TRUST)
    finally:
        damaged.close()
        for left in path.parent.glob("changed.sqlite*"):
            left.unlink()


def on(store: SqliteLedgerStore | MemoryLedgerStore, ledger: Ledger) -> Ledger:
    return Ledger(
        store,
        ledger.log_id,
        ledger_key=ledger.ledger_key,
        log_signer=LOG_SIGNER,
        entropy=Chance(),
        now=ledger._now,
    )


def test_a_sound_ledger_has_no_finding(ledger: Ledger) -> None:
    assert verify_ledger(ledger, TRUST, ledger.tree_head()) == []
    full = filled(MemoryLedgerStore())
    assert full.size == NUM_ENTRIES
    assert verify_ledger(full, TRUST, full.tree_head()) == []


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.sampled_from(
        [("entries", "leaf"), ("entries", "payload"), ("nodes", "hash"), ("tree_heads", "note")]
    ),
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.integers(0, 7),
)
def test_a_flipped_bit_anywhere_is_found_and_its_place_named(
    field: tuple[str, str], which: int, position: int, bit: int
) -> None:
    ledger = filled(MemoryLedgerStore())
    store = ledger.store
    assert isinstance(store, MemoryLedgerStore)
    table, column = field

    def flip(data: bytes) -> bytes:
        place = position % len(data)
        return data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]

    if table == "entries":
        index = which % NUM_ENTRIES
        row = store._rows[index]
        store._rows[index] = (
            replace(row, leaf=flip(row.leaf))
            if column == "leaf"
            else replace(row, payload=flip(row.payload))
        )
        where = f"entry {index}"
    elif table == "nodes":
        node = sorted(store._nodes)[which % len(store._nodes)]
        store._nodes[node] = flip(store._nodes[node])
        where = f"node {node[0]}/{node[1]}"
    else:
        size = sorted(store._tree_heads)[which % len(store._tree_heads)]
        note = flip(store._tree_heads[size].encode()).decode("utf-8", "surrogateescape")
        store._tree_heads[size] = note
        where = f"tree head {size}"
    assert where in places(verify_ledger(ledger, TRUST))


@pytest.mark.parametrize(
    ("statement", "where"),
    [
        ("UPDATE entries SET leaf = zeroblob(length(leaf)) WHERE position = 3", "entry 3"),
        ("UPDATE entries SET payload = x'' WHERE position = 4", "entry 4"),
        ("UPDATE entries SET entry_id = 'x' WHERE position = 2", "entry 2"),
        ("DELETE FROM entries WHERE position = 5", "entry 5"),
        ("DELETE FROM entries WHERE position = 6", "tree head 7"),
        ("UPDATE nodes SET hash = zeroblob(32) WHERE level = 1 AND idx = 1", "node 1/1"),
        ("UPDATE nodes SET hash = x'00' WHERE level = 2", "node 2/0"),
        ("DELETE FROM nodes WHERE level = 0 AND idx = 6", "node 0/6"),
        ("INSERT INTO nodes VALUES (9, 9, x'00')", "node 9/9"),
        ("INSERT INTO nodes VALUES (-1, -9, x'00')", "node -1/-9"),
        ("UPDATE tree_heads SET note = '' WHERE size = 4", "tree head 4"),
        ("UPDATE tree_heads SET note = CAST(x'ff0a' AS TEXT) WHERE size = 4", "tree head 4"),
        ("UPDATE tree_heads SET size = 5 WHERE size = 4", "tree head 5"),
        ("DELETE FROM tree_heads WHERE size = 7", "ledger"),
        ("UPDATE sequences SET sequence = 9 WHERE principal = 'owner'", "principal owner"),
        ("DELETE FROM sequences", "principal builder"),
        ("DROP TABLE nodes", "ledger"),
    ],
)
def test_a_change_in_the_database_is_found_and_named(
    sqlite_store: SqliteLedgerStore, statement: str, where: str
) -> None:
    try:
        findings = changed(sqlite_store, reopened(sqlite_store), statement)
    except IntegrityError:
        assert statement.startswith("DROP")
        return
    assert where in places(findings)


def test_swapped_entries_are_found(sqlite_store: SqliteLedgerStore) -> None:
    findings = changed(
        sqlite_store,
        reopened(sqlite_store),
        "UPDATE entries SET position = 99 WHERE position = 1",
        "UPDATE entries SET position = 1 WHERE position = 2",
        "UPDATE entries SET position = 2 WHERE position = 99",
    )
    assert {"entry 1", "entry 2"} <= places(findings)


def test_a_damaged_file_gives_findings_and_no_error(
    path: Path, make_store: Callable[[], SqliteLedgerStore]
) -> None:
    store = make_store()
    ledger = filled(store)
    store.close()
    data = bytearray(path.read_bytes())
    for start in range(4096, len(data), 4096):
        data[start : start + 64] = b"\xff" * 64
    path.write_bytes(data)
    assert verify_ledger(ledger, TRUST) != []


def test_the_wrong_ledger_key_names_every_entry() -> None:
    ledger = filled(MemoryLedgerStore())
    ledger.ledger_key = b"k" * 32
    findings = verify_ledger(ledger, TRUST)
    assert places(findings) == {f"entry {position}" for position in range(NUM_ENTRIES)}


def test_a_key_that_nobody_knows_is_found(ledger: Ledger) -> None:
    ledger.append([draft(), draft(signer=STRANGER)])
    (finding,) = verify_ledger(ledger, TRUST)
    assert finding.where == "entry 1"
    assert "not known" in finding.what


def test_signing_in_another_name_is_found(ledger: Ledger) -> None:
    ledger.append([draft(signer=Signer("owner", private_key(1)))])
    (finding,) = verify_ledger(ledger, TRUST)
    assert finding == Finding("the first signature is not by the entry's principal", "entry 0")


def test_tree_heads_by_another_key_are_found() -> None:
    ledger = filled(MemoryLedgerStore())
    other = Trust((private_key(3).public_key(),), TRUST.keys)
    assert places(verify_ledger(ledger, other)) == {f"tree head {n}" for n in (0, 1, 4, 6, 7)}
    both = Trust((private_key(3).public_key(), LOG_SIGNER.public_key), TRUST.keys)
    assert verify_ledger(ledger, both) == []
    assert "no key is known" in verify_ledger(ledger, Trust((), TRUST.keys))[0].what


def test_keys_are_learned_from_entries_in_their_order(ledger: Ledger) -> None:
    def learn(known: Mapping[str, PrincipalKey], entry: Entry) -> Mapping[str, PrincipalKey]:
        if entry.predicate == "principal":
            return {**known, STRANGER.keyid: PrincipalKey("stranger", STRANGER.public_key)}
        if entry.predicate == "key-rotation":
            return {keyid: key for keyid, key in known.items() if keyid != STRANGER.keyid}
        if entry.predicate == "genesis":
            raise IntegrityError("a second genesis")
        return known

    by_stranger = draft(signer=STRANGER)
    ledger.append([by_stranger, draft("principal"), by_stranger, draft("key-rotation")])
    ledger.append([by_stranger, draft("genesis")])
    findings = verify_ledger(ledger, replace(TRUST, learn=learn))
    assert [finding.where for finding in findings] == ["entry 0", "entry 4", "entry 5"]


def forged(ledger: Ledger, **changes: object) -> None:
    """Appends an entry whose claim is not what the ledger would have written."""
    store = ledger.store
    with store.appending() as appending:
        head = parse_tree_head(ledger.tree_head())
        said = draft()
        claim = replace(ledger._claim(said, 1, head), **changes)  # type: ignore[arg-type]
        row = row_of(
            said, claim, position=head.size, ledger_key=LEDGER_KEY, entropy=ledger._entropy
        )
        peaks = merkle.NodeMap(appending.nodes_at(merkle.peaks_of(head.size)))
        nodes = merkle.grown_nodes(peaks, head.size, [merkle.leaf_hash(row.leaf)])
        leaves = [merkle.leaf_hash(old.leaf) for old in store.rows(0, head.size)]
        root = merkle.root_of([*leaves, merkle.leaf_hash(row.leaf)])
        note = sign_tree_head(
            ledger.origin, head.size + 1, root, ledger.origin, LOG_SIGNER.private_key
        )
        counts = {BUILDER.principal: claim.sequence}
        appending.commit(Batch([row], nodes, head.size + 1, note, counts))


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"sequence": 3}, "gap"),
        ({"sequence": 1}, "gap"),
        ({"sequence": 2, "seen_size": 9}, "had seen"),
        ({"sequence": 2, "seen_size": 0}, "had seen"),
        ({"sequence": 2, "log_id": "ab" * 16}, "another log"),
    ],
)
def test_a_statement_replayed_skipped_or_from_elsewhere_is_found(
    ledger: Ledger, changes: dict[str, object], what: str
) -> None:
    ledger.append([draft()])
    forged(ledger, **changes)
    findings = verify_ledger(ledger, TRUST)
    assert {finding.where for finding in findings} == {"entry 1"}
    assert any(what in finding.what for finding in findings)


def test_a_cut_tail_and_a_rewrite_show_against_a_remembered_head() -> None:
    ledger = filled(MemoryLedgerStore())
    remembered = ledger.tree_head()
    shorter = begun(MemoryLedgerStore())
    shorter.append([draft()])
    (cut,) = verify_ledger(shorter, TRUST, remembered)
    assert "has 1 entries, but had 7" in cut.what
    shorter.append([draft(n=number) for number in range(8)])
    (rewritten,) = verify_ledger(shorter, TRUST, remembered)
    assert "first 7 entries" in rewritten.what
    (unreadable,) = verify_ledger(ledger, TRUST, "not a tree head")
    assert unreadable.where == "ledger"
    assert verify_ledger(ledger, TRUST, remembered) == []
    assert LOG_ID in remembered
