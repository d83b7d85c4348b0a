"""Wrapping: frozen, for one use alone, under a key file that is guarded and never lost twice."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.errors import AccessDenied, Conflict, IntegrityError, NotFound
from lineage.keys.signers import create_signing_key, public_hex, read_signing_key
from lineage.keys.wrapping import FileWrappingKey, KeyUse, read_secret, write_secret

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "keys.json").read_text())
KEY = bytes.fromhex(VECTORS["wrapping_key"])
WRAPPING = FileWrappingKey(KEY, lambda _: bytes.fromhex(VECTORS["nonce"]))
USE = KeyUse("0a" * 16, b"o" * 16, "corpus", "processed")
each_vector = pytest.mark.parametrize("vector", VECTORS["wraps"], ids=lambda v: v["what"])


def use_of(vector: dict[str, Any]) -> KeyUse:
    object_id = bytes.fromhex(vector["object_id"])
    return KeyUse(vector["key_id"], object_id, vector["dataset"], vector["zone"])


def test_the_id_of_a_wrapping_key_is_frozen_and_says_nothing_of_it() -> None:
    assert WRAPPING.id == VECTORS["wrapping_key_id"]
    assert WRAPPING.id not in KEY.hex()


@each_vector
def test_wrapped_keys_are_frozen(vector: dict[str, Any]) -> None:
    data_key, wrapped = bytes.fromhex(vector["data_key"]), bytes.fromhex(vector["wrapped"])
    assert WRAPPING.wrap(data_key, use_of(vector)) == wrapped
    assert WRAPPING.unwrap(wrapped, use_of(vector)) == data_key


@settings(deadline=None, max_examples=30)
@given(st.binary(min_size=32, max_size=32), st.text(max_size=9), st.sampled_from(["raw", "system"]))
def test_a_wrapped_key_comes_back(key: bytes, dataset: str, zone: str) -> None:
    wrapping, use = FileWrappingKey(KEY, os.urandom), replace(USE, dataset=dataset, zone=zone)
    wrapped = wrapping.wrap(key, use)
    assert wrapping.unwrap(wrapped, use) == key
    assert wrapping.wrap(key, use) != wrapped


OTHER_USES = {
    "key id": replace(USE, key_id="0b" * 16),
    "object": replace(USE, object_id=b"p" * 16),
    "dataset": replace(USE, dataset="corpus2"),
    "zone": replace(USE, zone="raw"),
    "dataset and zone cut elsewhere": replace(USE, dataset="corpuspro", zone="cessed"),
}


@pytest.mark.parametrize("other", OTHER_USES.values(), ids=list(OTHER_USES))
def test_a_wrapped_key_is_of_no_other_use(other: KeyUse) -> None:
    with pytest.raises(IntegrityError, match="wrong wrapping key or changed bytes"):
        WRAPPING.unwrap(WRAPPING.wrap(bytes(32), USE), other)


def test_another_wrapping_key_opens_nothing() -> None:
    with pytest.raises(IntegrityError, match=USE.key_id):
        FileWrappingKey(bytes(32), os.urandom).unwrap(WRAPPING.wrap(bytes(32), USE), USE)


def test_every_flipped_byte_and_every_cut_is_refused() -> None:
    sound = WRAPPING.wrap(bytes(32), USE)
    changed = [sound[:n] + bytes([sound[n] ^ 1]) + sound[n + 1 :] for n in range(len(sound))]
    for wrapped in [*changed, *(sound[:n] for n in range(len(sound)))]:
        with pytest.raises(IntegrityError):
            WRAPPING.unwrap(wrapped, USE)


@pytest.mark.parametrize("length", [0, 16, 31, 33])
def test_a_wrapping_key_has_32_bytes(length: int) -> None:
    with pytest.raises(IntegrityError, match="32 bytes"):
        FileWrappingKey(bytes(length), os.urandom)


def test_a_key_file_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "wrapping.key"
    made = FileWrappingKey.create(path, os.urandom)
    assert path.stat().st_mode & 0o777 == 0o600
    assert FileWrappingKey.open(path, os.urandom).id == made.id
    before = path.read_bytes()
    with pytest.raises(Conflict, match="is there already") as caught:
        FileWrappingKey.create(path, os.urandom)
    assert caught.value.hint == "a key file is never overwritten"
    assert path.read_bytes() == before


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601, 0o777])
def test_a_key_file_that_others_can_touch_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "wrapping.key"
    FileWrappingKey.create(path, os.urandom)
    path.chmod(mode)
    with pytest.raises(AccessDenied, match="others can read this key file") as caught:
        FileWrappingKey.open(path, os.urandom)
    assert caught.value.hint == f"chmod 600 {path}"


def test_a_missing_key_file_says_that_it_is_never_made_anew(tmp_path: Path) -> None:
    for read in (lambda p: FileWrappingKey.open(p, os.urandom), read_signing_key, read_secret):
        with pytest.raises(NotFound, match="the key file is missing") as caught:
            read(tmp_path / "gone.key")
        assert "never made anew" in caught.value.hint
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("data", [b"", b"no hex", b"ab" * 16, b"ab" * 33, b"\xff" * 64])
def test_a_file_that_holds_no_key_is_an_integrity_error(tmp_path: Path, data: bytes) -> None:
    write_secret(tmp_path / "a.key", data)
    with pytest.raises(IntegrityError):
        FileWrappingKey.open(tmp_path / "a.key", os.urandom)
    with pytest.raises(IntegrityError, match="not a signing key"):
        read_signing_key(tmp_path / "a.key")


def test_a_signing_key_reads_back_and_is_made_once(tmp_path: Path) -> None:
    made = create_signing_key(tmp_path / "owner.key", os.urandom)
    assert public_hex(read_signing_key(tmp_path / "owner.key")) == public_hex(made)
    assert (tmp_path / "owner.key").stat().st_mode & 0o777 == 0o600
    with pytest.raises(Conflict):
        create_signing_key(tmp_path / "owner.key", os.urandom)


def test_a_signing_key_of_another_kind_is_refused(tmp_path: Path) -> None:
    other = generate_private_key(SECP256R1())
    pem = other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    write_secret(tmp_path / "a.key", pem)
    with pytest.raises(IntegrityError, match="not an Ed25519 key"):
        read_signing_key(tmp_path / "a.key")
