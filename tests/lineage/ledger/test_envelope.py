from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.errors import ConfigError, IntegrityError
from lineage.ledger.envelope import (
    Signer,
    keyid_of,
    open_envelope,
    sign_envelope,
    verify_envelope,
)
from tests.lineage.ledger.world import BUILDER, OWNER, private_key

PAYLOAD = b'{"_type":"https://in-toto.io/Statement/v1"}'
KEYS = {signer.keyid: signer.public_key for signer in (BUILDER, OWNER)}
ENVELOPE = sign_envelope(PAYLOAD, [BUILDER, OWNER])


def test_a_signature_is_ed25519_over_the_dsse_encoding() -> None:
    document = json.loads(ENVELOPE)
    assert base64.b64decode(document["payload"]) == PAYLOAD
    assert document["payloadType"] == "application/vnd.in-toto+json"
    encoded = b"DSSEv1 28 application/vnd.in-toto+json 43 " + PAYLOAD
    for signature, signer in zip(document["signatures"], (BUILDER, OWNER), strict=True):
        raw = signer.public_key.public_bytes_raw()
        assert signature["keyid"] == hashlib.sha256(raw).hexdigest()
        signer.public_key.verify(base64.b64decode(signature["sig"]), encoded)


def test_an_envelope_opens_with_its_signatures_in_order() -> None:
    payload, signatures = open_envelope(ENVELOPE)
    assert payload == PAYLOAD
    assert [signature.keyid for signature in signatures] == [BUILDER.keyid, OWNER.keyid]
    assert {len(signature.value) for signature in signatures} == {64}


def test_every_required_key_must_have_signed() -> None:
    both = [BUILDER.keyid, OWNER.keyid]
    assert verify_envelope(ENVELOPE, KEYS, both) == PAYLOAD
    one = sign_envelope(PAYLOAD, [BUILDER])
    assert verify_envelope(one, KEYS, [BUILDER.keyid]) == PAYLOAD
    with pytest.raises(IntegrityError, match="missing"):
        verify_envelope(one, KEYS, both)


def test_verifying_against_no_key_is_never_a_success() -> None:
    with pytest.raises(IntegrityError, match="no key"):
        verify_envelope(ENVELOPE, KEYS, [])


def test_a_key_that_is_unknown_or_under_a_false_name_is_refused() -> None:
    with pytest.raises(IntegrityError, match="not known"):
        verify_envelope(ENVELOPE, {}, [BUILDER.keyid])
    with pytest.raises(IntegrityError, match="not known"):
        verify_envelope(ENVELOPE, {BUILDER.keyid: OWNER.public_key}, [BUILDER.keyid])


def test_a_signature_of_another_key_under_a_known_name_is_refused() -> None:
    document = json.loads(sign_envelope(PAYLOAD, [OWNER]))
    document["signatures"][0]["keyid"] = BUILDER.keyid
    with pytest.raises(IntegrityError):
        verify_envelope(json.dumps(document).encode(), KEYS, [BUILDER.keyid])


def test_signing_needs_signers_each_with_its_own_key() -> None:
    with pytest.raises(ConfigError):
        sign_envelope(PAYLOAD, [])
    with pytest.raises(ConfigError):
        sign_envelope(PAYLOAD, [BUILDER, Signer("another", private_key(1))])


def test_a_signer_never_shows_its_key() -> None:
    assert "PrivateKey" not in repr(BUILDER)


@given(st.integers(0, len(ENVELOPE) - 1), st.integers(0, 7))
def test_a_flipped_bit_never_gives_another_payload(position: int, bit: int) -> None:
    changed = bytearray(ENVELOPE)
    changed[position] ^= 1 << bit
    try:
        assert verify_envelope(bytes(changed), KEYS, list(KEYS)) == PAYLOAD
    except IntegrityError:
        return


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["payload", "payloadType", "signatures", "keyid", "sig"]), inner
            )
        ),
        max_leaves=8,
    )
)
def test_any_other_json_is_refused_in_one_way(document: Any) -> None:
    with pytest.raises(IntegrityError):
        open_envelope(json.dumps(document).encode())


def test_keyid_is_the_digest_of_the_raw_public_key() -> None:
    raw = BUILDER.public_key.public_bytes_raw()
    assert keyid_of(BUILDER.public_key) == hashlib.sha256(raw).hexdigest()
