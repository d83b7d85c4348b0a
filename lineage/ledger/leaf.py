"""One ledger entry in bytes: the public leaf and the sealed payload (frozen).

The leaf is all that the tree and published tiles hold. It commits to the envelope
through 32 random bytes, so it binds the plaintext and yet tells nothing about it.
The payload holds those bytes and the envelope, sealed under the ledger's key.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from lineage.digest import Digest, frame
from lineage.errors import ConfigError, IntegrityError

VERSION = "1"
BLIND_BYTES = 32
ENTRY_ID_BYTES = 16
NONCE_BYTES = 12
MAX_ENTRY_BYTES = (1 << 16) - 1
_MAGIC = b"shardle1"
_ID = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Leaf:
    """What a leaf says.

    Attributes:
        log_id: 32 hex digits.
        entry_id: 32 hex digits, random.
        commitment: see `commitment`.
    """

    log_id: str
    entry_id: str
    commitment: Digest

    def __post_init__(self) -> None:
        if not (is_id(self.log_id) and is_id(self.entry_id)):
            raise IntegrityError("a log id and an entry id have 32 lower-case hex digits")


def is_id(value: object) -> bool:
    """True for 32 lower-case hex digits, the form of log ids and entry ids."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def commitment(blind: bytes, envelope: bytes) -> Digest:
    """SHA-256 over the domain, 32 random bytes and the envelope, each with its length."""
    framed = frame(b"shardline/commitment/v1", blind, envelope)
    return Digest(hashlib.sha256(framed).digest())


def leaf_data(leaf: Leaf) -> bytes:
    """The canonical JSON that is hashed into the tree."""
    # Written out, since every read checks it: hex digits need no escapes, and the names
    # are in canonical order. A test compares it with `canonical_json`.
    text = (
        f'{{"commitment":"{leaf.commitment}","entry_id":"{leaf.entry_id}",'
        f'"log_id":"{leaf.log_id}","v":"{VERSION}"}}'
    )
    return text.encode()


def parse_leaf(data: bytes) -> Leaf:
    """Reads leaf data.

    Raises:
        IntegrityError: the bytes are not exactly what `leaf_data` writes.
    """
    try:
        fields = json.loads(data)
        leaf = Leaf(fields["log_id"], fields["entry_id"], Digest.parse(fields["commitment"]))
        if leaf_data(leaf) != data:
            raise IntegrityError("a leaf is not canonical, or of another version")
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        raise IntegrityError("a leaf cannot be read") from None
    return leaf


def seal_payload(
    blind: bytes, envelope: bytes, *, leaf: Leaf, ledger_key: bytes, nonce: bytes
) -> bytes:
    """Seals what a leaf commits to: magic (8), nonce (12), ciphertext and tag.

    Args:
        blind: 32 random bytes.
        ledger_key: 32 bytes.
        nonce: 12 random bytes, never used twice under one key.

    Raises:
        ConfigError: leaf and payload together would pass 65,535 bytes.
    """
    if len(blind) != BLIND_BYTES or len(nonce) != NONCE_BYTES:
        raise ValueError(f"a blind has {BLIND_BYTES} bytes and a nonce {NONCE_BYTES}")
    sealed = AESGCM(_checked(ledger_key)).encrypt(nonce, blind + envelope, _aad(leaf))
    payload = _MAGIC + nonce + sealed
    size_bytes = len(leaf_data(leaf)) + len(payload)
    if size_bytes > MAX_ENTRY_BYTES:
        raise ConfigError(
            f"a ledger entry would have {size_bytes} bytes; the limit is {MAX_ENTRY_BYTES}",
            "put lists into a sealed object and name its digest",
        )
    return payload


def open_payload(payload: bytes, *, leaf: Leaf, ledger_key: bytes) -> tuple[bytes, bytes]:
    """The 32 random bytes and the envelope, checked against the leaf's commitment.

    Raises:
        IntegrityError: another key or entry, changed bytes, or not what the leaf commits to.
    """
    start = len(_MAGIC) + NONCE_BYTES
    if not payload.startswith(_MAGIC) or len(payload) < start + BLIND_BYTES:
        raise IntegrityError(f"the payload of entry {leaf.entry_id} cannot be read")
    nonce, sealed = payload[len(_MAGIC) : start], payload[start:]
    try:
        opened = AESGCM(_checked(ledger_key)).decrypt(nonce, sealed, _aad(leaf))
    except InvalidTag:
        raise IntegrityError(
            f"the payload of entry {leaf.entry_id}: wrong ledger key or changed bytes"
        ) from None
    blind, envelope = opened[:BLIND_BYTES], opened[BLIND_BYTES:]
    if len(blind) != BLIND_BYTES or commitment(blind, envelope) != leaf.commitment:
        raise IntegrityError(
            f"the payload of entry {leaf.entry_id} is not what its leaf commits to"
        )
    return blind, envelope


def _aad(leaf: Leaf) -> bytes:
    return frame(b"shardline/entry/v1", leaf.log_id.encode(), leaf.entry_id.encode())


def _checked(ledger_key: bytes) -> bytes:
    if len(ledger_key) != 32:
        raise ValueError("the ledger key has 32 bytes")
    return ledger_key
