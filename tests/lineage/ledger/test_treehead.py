from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from hypothesis import given
from hypothesis import strategies as st

from lineage.errors import IntegrityError
from lineage.ledger.treehead import (
    key_hash_of,
    origin_of,
    parse_tree_head,
    sign_tree_head,
    verify_tree_head,
)
from tests.lineage.ledger.world import LOG_ID, LOG_SIGNER, private_key

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "treehead.json").read_text()
)
ORIGIN = origin_of(LOG_ID)
ROOT = hashlib.sha256(b"root").digest()
NOTE = sign_tree_head(ORIGIN, 7, ROOT, ORIGIN, LOG_SIGNER.private_key)


def published_key() -> Ed25519PublicKey:
    encoded = base64.b64decode(VECTORS["published_key"]["encoded"])
    assert encoded[:1] == b"\x01"
    return Ed25519PublicKey.from_public_bytes(encoded[1:])


def test_the_hash_of_a_published_key_is_the_published_one() -> None:
    name = VECTORS["published_key"]["name"]
    assert key_hash_of(name, published_key()).hex() == VECTORS["published_key"]["key_hash"]


@pytest.mark.parametrize("case", VECTORS["published"])
def test_published_tree_heads_verify(case: dict[str, Any]) -> None:
    head = verify_tree_head(case["note"], "go.sum database tree", "sum.golang.org", published_key())
    assert head.size == case["size"]


def test_our_tree_head_is_the_frozen_one() -> None:
    vector = VECTORS["ours"]
    key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(vector["private_key"]))
    root = bytes.fromhex(vector["root"])
    note = sign_tree_head(vector["origin"], int(vector["size"]), root, vector["name"], key)
    assert note == vector["note"]


def test_a_tree_head_is_made_as_the_specification_says() -> None:
    public_raw = LOG_SIGNER.public_key.public_bytes_raw()
    body = f"{ORIGIN}\n7\n{base64.b64encode(ROOT).decode()}\n"
    key_hash = hashlib.sha256(ORIGIN.encode() + b"\n\x01" + public_raw).digest()[:4]
    signature = base64.b64encode(key_hash + LOG_SIGNER.private_key.sign(body.encode())).decode()
    assert f"{body}\n\u2014 {ORIGIN} {signature}\n" == NOTE


def test_a_tree_head_reads_back() -> None:
    head = verify_tree_head(NOTE, ORIGIN, ORIGIN, LOG_SIGNER.public_key)
    assert (head.origin, head.size, head.root) == (ORIGIN, 7, ROOT)


def test_extension_lines_and_cosignatures_do_not_disturb() -> None:
    witness = sign_tree_head(ORIGIN, 7, ROOT, "witness.example", private_key(5))
    both = NOTE + witness.rpartition("\n\n")[2]
    head = verify_tree_head(both, ORIGIN, "witness.example", private_key(5).public_key())
    assert [signature.name for signature in head.signatures] == [ORIGIN, "witness.example"]
    body = NOTE.rpartition("\n\n")[0] + "\nan extension\n"
    key_hash = key_hash_of(ORIGIN, LOG_SIGNER.public_key)
    signature = base64.b64encode(key_hash + LOG_SIGNER.private_key.sign(body.encode())).decode()
    extended = f"{body}\n\u2014 {ORIGIN} {signature}\n"
    assert verify_tree_head(extended, ORIGIN, ORIGIN, LOG_SIGNER.public_key).size == 7


def test_another_origin_name_or_key_is_refused() -> None:
    with pytest.raises(IntegrityError, match="another log"):
        verify_tree_head(NOTE, origin_of("ab" * 16), ORIGIN, LOG_SIGNER.public_key)
    with pytest.raises(IntegrityError, match="no valid signature"):
        verify_tree_head(NOTE, ORIGIN, "other", LOG_SIGNER.public_key)
    with pytest.raises(IntegrityError, match="no valid signature"):
        verify_tree_head(NOTE, ORIGIN, ORIGIN, private_key(5).public_key())


@given(st.integers(0, len(NOTE) - 1), st.integers(0, 6))
def test_a_flipped_bit_is_refused(position: int, bit: int) -> None:
    changed = NOTE[:position] + chr(ord(NOTE[position]) ^ 1 << bit) + NOTE[position + 1 :]
    with pytest.raises(IntegrityError):
        verify_tree_head(changed, ORIGIN, ORIGIN, LOG_SIGNER.public_key)


@given(st.text(max_size=120))
def test_any_other_text_is_refused_in_one_way(text: str) -> None:
    with pytest.raises(IntegrityError):
        parse_tree_head(text)


@pytest.mark.parametrize("size", ["07", "+7", "-7", "", "x", "\u0667", "9" * 5000])
def test_a_size_has_one_way_to_be_written(size: str) -> None:
    with pytest.raises(IntegrityError):
        parse_tree_head(NOTE.replace("\n7\n", f"\n{size}\n"))


@pytest.mark.parametrize("name", ["", "two words", "a+b", "line\nbreak"])
def test_a_name_that_a_note_cannot_hold_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="key name"):
        sign_tree_head(ORIGIN, 7, ROOT, name, LOG_SIGNER.private_key)
