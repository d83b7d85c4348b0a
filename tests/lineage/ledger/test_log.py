from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.digest import Digest, digest_of
from lineage.errors import ConfigError, Conflict, IntegrityError, NotFound
from lineage.ledger import merkle
from lineage.ledger.draft import Draft
from lineage.ledger.envelope import Signer, verify_envelope
from lineage.ledger.log import Ledger
from lineage.ledger.memory import MemoryLedgerStore
from lineage.ledger.sqlite import SqliteLedgerStore
from lineage.ledger.statement import Subject
from lineage.ledger.store import LedgerStore
from lineage.ledger.treehead import LogSigner, origin_of, parse_tree_head, verify_tree_head
from tests.lineage.ledger.world import (
    BUILDER,
    LEDGER_KEY,
    LOG_ID,
    LOG_SIGNER,
    OWNER,
    Chance,
    Clock,
    begun,
    draft,
    private_key,
    reopened,
)

VECTOR: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "ledger.json").read_text()
)


def test_a_new_log_has_a_signed_head_of_nothing(ledger: Ledger) -> None:
    head = verify_tree_head(
        ledger.tree_head(), origin_of(LOG_ID), origin_of(LOG_ID), LOG_SIGNER.public_key
    )
    assert (head.size, head.root) == (0, hashlib.sha256(b"").digest())
    assert list(ledger.entries()) == []


def test_an_appended_entry_says_what_its_draft_said(ledger: Ledger) -> None:
    ledger.append([draft()])
    before = parse_tree_head(ledger.tree_head())
    (entry,) = ledger.append([draft("run", OWNER, run="r1", steps=2**60, of=digest_of(b"x"))])
    assert (entry.position, entry.predicate, entry.principal) == (1, "run", "owner")
    assert entry.subjects == (Subject("corpus@v1", digest_of(b"corpus")),)
    assert entry.body == {"run": "r1", "steps": str(2**60), "of": str(digest_of(b"x"))}
    assert entry.time == datetime(2026, 11, 30, 12, 0, 2, tzinfo=UTC)
    assert (entry.claim.seen_size, entry.claim.seen_root.raw) == (1, before.root)
    assert entry.claim.log_id == LOG_ID
    assert verify_envelope(entry.envelope, {OWNER.keyid: OWNER.public_key}, [OWNER.keyid])


def test_sequences_count_each_principal_by_itself(ledger: Ledger) -> None:
    ledger.append([draft(), draft(signer=OWNER), draft()])
    ledger.append([draft(signer=OWNER), draft(), draft()])
    counted = [(entry.principal, entry.claim.sequence) for entry in ledger.entries()]
    assert [number for name, number in counted if name == "builder"] == [1, 2, 3, 4]
    assert [number for name, number in counted if name == "owner"] == [1, 2]


def test_an_access_is_signed_by_the_requester_and_the_gate(ledger: Ledger) -> None:
    both = Draft("access", (Subject("c@v1", digest_of(b"c")),), {}, (OWNER, BUILDER))
    (entry,) = ledger.append([both])
    assert entry.principal == "owner"
    assert [signature.keyid for signature in entry.signatures] == [OWNER.keyid, BUILDER.keyid]


def test_entries_are_read_by_range_predicate_position_and_id(ledger: Ledger) -> None:
    appended = ledger.append([draft("run"), draft("build"), draft("run"), draft("move")])
    assert list(ledger.entries()) == appended
    assert list(ledger.entries(1, 3)) == appended[1:3]
    assert list(ledger.entries(3, 99)) == appended[3:]
    assert list(ledger.entries(predicates={"run"})) == [appended[0], appended[2]]
    assert ledger.entry(2) == appended[2]
    assert ledger.find(appended[1].entry_id) == appended[1]
    assert ledger.find("f" * 32) is None
    with pytest.raises(NotFound, match="no entry 4"):
        ledger.entry(4)


def test_appending_nothing_changes_nothing(ledger: Ledger) -> None:
    before = ledger.tree_head()
    assert ledger.append([]) == []
    assert ledger.tree_head() == before


@pytest.mark.parametrize(
    "refused",
    [
        draft("made-up"),
        Draft("run", (), {}, (BUILDER,)),
        Draft("run", (Subject("c", digest_of(b"c")),), {}, ()),
        draft(rate=0.5),
        draft(many="x" * 70_000),
        Draft("run", (Subject("c", digest_of(b"c")),), {}, (BUILDER, BUILDER)),
    ],
    ids=["predicate", "no subject", "no signer", "float", "too large", "one key twice"],
)
def test_a_draft_that_cannot_be_an_entry_stores_nothing(ledger: Ledger, refused: Draft) -> None:
    ledger.append([draft()])
    before = ledger.tree_head()
    with pytest.raises(ConfigError):
        ledger.append([draft(), refused])
    assert ledger.tree_head() == before
    assert ledger.size == 1
    assert ledger.append([draft()])[0].claim.sequence == 2


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=8), st.data())
def test_proofs_hold_for_every_size(sizes: list[int], data: st.DataObject) -> None:
    ledger = begun(MemoryLedgerStore())
    heads = [parse_tree_head(ledger.tree_head())]
    for size in sizes:
        ledger.append([draft()] * size)
        heads.append(parse_tree_head(ledger.tree_head()))
    old, new = sorted(
        data.draw(st.lists(st.sampled_from(heads), min_size=2, max_size=2)),
        key=lambda head: head.size,
    )
    consistency = ledger.consistency(old.size, new.size)
    assert merkle.verify_consistency(old.size, new.size, old.root, new.root, consistency)
    assert ledger.root(new.size) == Digest(new.root)
    if new.size:
        position = data.draw(st.integers(0, new.size - 1))
        leaf = merkle.leaf_hash(ledger.entry(position).leaf)
        proof = ledger.inclusion(position, new.size)
        assert merkle.verify_inclusion(leaf, position, new.size, proof, new.root)


def test_proofs_beyond_the_log_are_not_found(ledger: Ledger) -> None:
    ledger.append([draft()] * 3)
    for ask in (
        lambda: ledger.inclusion(3, 3),
        lambda: ledger.inclusion(0, 4),
        lambda: ledger.consistency(3, 2),
        lambda: ledger.consistency(0, 4),
        lambda: ledger.root(4),
    ):
        with pytest.raises(NotFound):
            ask()


def test_a_log_is_begun_once(store: LedgerStore) -> None:
    begun(store).append([draft()])
    with pytest.raises(Conflict):
        begun(store)
    assert reopened(store).size == 1


def test_opening_needs_a_log(store: LedgerStore) -> None:
    with pytest.raises(NotFound, match="holds no log"):
        reopened(store)


def test_another_log_or_log_key_is_refused(store: LedgerStore) -> None:
    begun(store)
    for log_id, signer in (("ab" * 16, LOG_SIGNER), (LOG_ID, LogSigner(private_key(8)))):
        with pytest.raises(IntegrityError):
            Ledger.open(
                store,
                log_id,
                ledger_key=LEDGER_KEY,
                log_signer=signer,
                entropy=Chance(),
                now=Clock(),
            )


def test_a_reader_without_the_log_key_reads_but_cannot_append(store: LedgerStore) -> None:
    entries = begun(store).append([draft()])
    reader = Ledger.open(
        store, LOG_ID, ledger_key=LEDGER_KEY, log_signer=None, entropy=Chance(), now=Clock()
    )
    assert list(reader.entries()) == entries
    with pytest.raises(ConfigError, match="no log key"):
        reader.append([draft()])


def test_another_ledger_key_opens_nothing(store: LedgerStore) -> None:
    begun(store).append([draft()])
    other = Ledger.open(
        store, LOG_ID, ledger_key=b"k" * 32, log_signer=LOG_SIGNER, entropy=Chance(), now=Clock()
    )
    with pytest.raises(IntegrityError, match="wrong ledger key"):
        list(other.entries())


def test_an_older_copy_and_a_fork_are_refused(store: LedgerStore) -> None:
    ledger = begun(store)
    ledger.append([draft(n=1)])
    first = ledger.tree_head()
    ledger.append([draft(n=2)])
    assert reopened(store, remembered=first).size == 2
    copy = begun(MemoryLedgerStore())
    copy.append([draft(n=1)])
    with pytest.raises(IntegrityError, match="older copy"):
        copy.require_continues(ledger.tree_head())
    copy.append([draft(n=3)])
    with pytest.raises(IntegrityError, match="another history"):
        copy.require_continues(ledger.tree_head())


def test_nothing_is_appended_to_a_damaged_tree(
    path: Path, make_store: Callable[[], SqliteLedgerStore]
) -> None:
    store = make_store()
    ledger = begun(store)
    ledger.append([draft()] * 3)
    with store._engine.begin() as connection:
        connection.exec_driver_sql("UPDATE nodes SET hash = zeroblob(32) WHERE level = 1")
    with pytest.raises(IntegrityError, match="audit verify"):
        ledger.append([draft()])
    with pytest.raises(IntegrityError, match="audit verify"):
        reopened(make_store())
    assert store.size() == 3


def test_a_missing_entry_is_named(path: Path, make_store: Callable[[], SqliteLedgerStore]) -> None:
    store = make_store()
    ledger = begun(store)
    ledger.append([draft()] * 3)
    with store._engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM entries WHERE position = 1")
    with pytest.raises(IntegrityError, match="entry 1 "):
        list(ledger.entries())


def test_the_frozen_entry_is_made_byte_for_byte() -> None:
    chances = iter(bytes.fromhex(chance) for chance in VECTOR["entropy"])
    log_key, key = (
        Ed25519PrivateKey.from_private_bytes(bytes.fromhex(VECTOR[name]))
        for name in ("log_key", "principal_key")
    )
    ledger = Ledger.create(
        MemoryLedgerStore(),
        VECTOR["log_id"],
        ledger_key=bytes.fromhex(VECTOR["ledger_key"]),
        log_signer=LogSigner(log_key),
        entropy=lambda num_bytes: next(chances)[:num_bytes],
        now=lambda: datetime.fromisoformat(VECTOR["time"]),
    )
    subject = Subject(VECTOR["subject"]["name"], Digest.parse(VECTOR["subject"]["digest"]))
    signer = Signer(VECTOR["principal"], key)
    (entry,) = ledger.append([Draft(VECTOR["predicate"], (subject,), VECTOR["body"], (signer,))])
    (row,) = ledger.store.rows(0, 1)
    payload = verify_envelope(entry.envelope, {signer.keyid: signer.public_key}, [signer.keyid])
    assert payload.decode() == VECTOR["statement"]
    assert entry.envelope.decode() == VECTOR["envelope"]
    assert entry.leaf.decode() == VECTOR["leaf"]
    assert row.payload.hex() == VECTOR["payload"]
    assert merkle.leaf_hash(entry.leaf).hex() == VECTOR["leaf_hash"]
    assert ledger.tree_head() == VECTOR["tree_head"]
