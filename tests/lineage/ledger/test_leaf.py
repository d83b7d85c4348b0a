from __future__ import annotations

import hashlib
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.digest import Digest, canonical_json, digest_of
from lineage.errors import ConfigError, IntegrityError
from lineage.ledger.leaf import (
    MAX_ENTRY_BYTES,
    Leaf,
    commitment,
    leaf_data,
    open_payload,
    parse_leaf,
    seal_payload,
)
from tests.lineage.ledger.world import LEDGER_KEY, LOG_ID

BLIND, NONCE, ENVELOPE = b"r" * 32, b"n" * 12, b'{"payload":""}'
LEAF = Leaf(LOG_ID, "ab" * 16, commitment(BLIND, ENVELOPE))
SEALED = seal_payload(BLIND, ENVELOPE, leaf=LEAF, ledger_key=LEDGER_KEY, nonce=NONCE)


def test_a_commitment_is_the_digest_of_its_parts_with_their_lengths() -> None:
    domain = b"shardline/commitment/v1"
    framed = b"".join(struct.pack("<Q", len(p)) + p for p in (domain, BLIND, ENVELOPE))
    assert commitment(BLIND, ENVELOPE) == Digest(hashlib.sha256(framed).digest())


@given(st.binary(min_size=16, max_size=16), st.binary(min_size=32, max_size=32))
def test_leaf_data_is_canonical_and_reads_back(entry_id: bytes, committed: bytes) -> None:
    leaf = Leaf(LOG_ID, entry_id.hex(), Digest(committed))
    fields = {"v": "1", "log_id": LOG_ID, "entry_id": leaf.entry_id, "commitment": leaf.commitment}
    assert leaf_data(leaf) == canonical_json(fields)
    assert parse_leaf(leaf_data(leaf)) == leaf


@given(st.integers(0, len(leaf_data(LEAF)) - 1), st.integers(0, 7))
def test_a_flipped_bit_gives_no_leaf_or_another_one(position: int, bit: int) -> None:
    changed = bytearray(leaf_data(LEAF))
    changed[position] ^= 1 << bit
    try:
        assert parse_leaf(bytes(changed)) != LEAF
    except IntegrityError:
        return


@pytest.mark.parametrize("change", [{"v": "2"}, {"more": "x"}, {"log_id": "0F" * 16}, {"v": 1}])
def test_a_leaf_of_another_form_is_refused(change: dict[str, object]) -> None:
    fields = {**json.loads(leaf_data(LEAF)), **change}
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    with pytest.raises(IntegrityError):
        parse_leaf(text.encode())


def test_a_leaf_with_spaces_is_refused() -> None:
    with pytest.raises(IntegrityError, match="canonical"):
        parse_leaf(json.dumps(json.loads(leaf_data(LEAF)), sort_keys=True).encode())


def test_a_payload_opens_only_under_its_key_and_for_its_entry() -> None:
    assert open_payload(SEALED, leaf=LEAF, ledger_key=LEDGER_KEY) == (BLIND, ENVELOPE)
    with pytest.raises(IntegrityError, match="wrong ledger key"):
        open_payload(SEALED, leaf=LEAF, ledger_key=b"k" * 32)
    neighbour = Leaf(LOG_ID, "cd" * 16, LEAF.commitment)
    with pytest.raises(IntegrityError, match="cd" * 16):
        open_payload(SEALED, leaf=neighbour, ledger_key=LEDGER_KEY)


def test_a_payload_that_its_leaf_does_not_commit_to_is_refused() -> None:
    other = Leaf(LOG_ID, LEAF.entry_id, digest_of(b"other"))
    with pytest.raises(IntegrityError, match="commits to"):
        open_payload(SEALED, leaf=other, ledger_key=LEDGER_KEY)


@given(st.integers(0, len(SEALED) - 1), st.integers(0, 7))
def test_a_flipped_bit_in_a_payload_is_found(position: int, bit: int) -> None:
    changed = bytearray(SEALED)
    changed[position] ^= 1 << bit
    with pytest.raises(IntegrityError, match=LEAF.entry_id):
        open_payload(bytes(changed), leaf=LEAF, ledger_key=LEDGER_KEY)


@given(st.integers(0, len(SEALED) - 1))
def test_a_cut_payload_is_found(length: int) -> None:
    with pytest.raises(IntegrityError, match=LEAF.entry_id):
        open_payload(SEALED[:length], leaf=LEAF, ledger_key=LEDGER_KEY)


def test_an_entry_fills_at_most_64_kib() -> None:
    room = MAX_ENTRY_BYTES - len(leaf_data(LEAF)) - len(SEALED) + len(ENVELOPE)
    full = seal_payload(BLIND, b"x" * room, leaf=LEAF, ledger_key=LEDGER_KEY, nonce=NONCE)
    assert len(full) + len(leaf_data(LEAF)) == 65_535
    with pytest.raises(ConfigError, match="65536 bytes"):
        seal_payload(BLIND, b"x" * (room + 1), leaf=LEAF, ledger_key=LEDGER_KEY, nonce=NONCE)


def test_keys_and_chance_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        seal_payload(BLIND, ENVELOPE, leaf=LEAF, ledger_key=b"k" * 16, nonce=NONCE)
    with pytest.raises(ValueError, match="blind"):
        seal_payload(b"r", ENVELOPE, leaf=LEAF, ledger_key=LEDGER_KEY, nonce=NONCE)
