"""Envelopes: DSSE around a statement, signed with Ed25519 (docs/formats.md section 11).

The exact bytes of an envelope are kept, committed to and verified; only then is the
payload parsed. A key's id is the hex SHA-256 of its 32 raw public bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import FormatError, VerificationError
from securesystemslib.signer import (  # type: ignore[attr-defined]  # public, but not listed
    CryptoSigner,
    Key,
    SSlibKey,
)

from lineage.digest import canonical_json
from lineage.errors import ConfigError, IntegrityError

PAYLOAD_TYPE = "application/vnd.in-toto+json"


@dataclass(frozen=True, slots=True)
class Signer:
    """A principal with its private key.

    Attributes:
        principal: the principal's random id.
        private_key: never shown.
    """

    principal: str
    private_key: Ed25519PrivateKey = field(repr=False)

    @property
    def public_key(self) -> Ed25519PublicKey:
        """The public half, which a principal entry names."""
        return self.private_key.public_key()

    @property
    def keyid(self) -> str:
        """64 hex digits."""
        return keyid_of(self.public_key)


@dataclass(frozen=True, slots=True)
class EnvelopeSignature:
    """One signature as it stands in an envelope, not verified.

    Attributes:
        keyid: names the key; trust no one because of it.
        value: 64 bytes for Ed25519.
    """

    keyid: str
    value: bytes


def keyid_of(public_key: Ed25519PublicKey) -> str:
    """64 hex digits: SHA-256 of the raw public key."""
    return hashlib.sha256(public_key.public_bytes_raw()).hexdigest()


def sign_envelope(payload: bytes, signers: Sequence[Signer]) -> bytes:
    """The canonical JSON of an envelope with one signature a signer, in their order.

    Raises:
        ConfigError: no signer, or one key twice.
    """
    keyids = [signer.keyid for signer in signers]
    if not keyids or len(set(keyids)) != len(keyids):
        raise ConfigError("an envelope has one signer or more, each with a key of its own")
    envelope = Envelope(payload, PAYLOAD_TYPE, {})
    for signer, keyid in zip(signers, keyids, strict=True):
        public_key = SSlibKey.from_crypto(signer.public_key, keyid)
        envelope.sign(CryptoSigner(signer.private_key, public_key))
    return canonical_json(envelope.to_dict())


def open_envelope(data: bytes) -> tuple[bytes, tuple[EnvelopeSignature, ...]]:
    """The payload and the signatures of an envelope, NOT verified.

    Raises:
        IntegrityError: the bytes are no DSSE envelope around an in-toto statement.
    """
    envelope = _parse(data)
    signatures = tuple(
        EnvelopeSignature(keyid, bytes.fromhex(signature.signature))
        for keyid, signature in envelope.signatures.items()
    )
    return envelope.payload, signatures


def verify_envelope(
    data: bytes, keys: Mapping[str, Ed25519PublicKey], required: Sequence[str]
) -> bytes:
    """Verifies that every required key signed, and returns the payload.

    The caller MUST have the keys from where it trusts, and MUST check that the
    payload's principal is the one whose key it required.

    Args:
        keys: key ids to public keys.
        required: key ids; signatures by others are not looked at.

    Raises:
        IntegrityError: none is required, one is unknown, or a signature is missing or bad.
    """
    envelope = _parse(data)
    wanted: list[Key] = [_sslib_key(keys, keyid) for keyid in dict.fromkeys(required)]
    if not wanted:
        raise IntegrityError("an envelope was to be verified against no key")
    try:
        envelope.verify(wanted, len(wanted))
    except VerificationError:
        raise IntegrityError("a signature of an envelope is missing or does not verify") from None
    return envelope.payload


def _sslib_key(keys: Mapping[str, Ed25519PublicKey], keyid: str) -> SSlibKey:
    public_key = keys.get(keyid)
    if public_key is None or keyid_of(public_key) != keyid:
        raise IntegrityError(f"key {keyid[:16]} is not known")
    return SSlibKey.from_crypto(public_key, keyid)


def _parse(data: bytes) -> Envelope:
    try:
        envelope = Envelope.from_dict(json.loads(data))
        if envelope.payload_type != PAYLOAD_TYPE:
            raise IntegrityError("an envelope holds no in-toto statement")
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError, FormatError):
        raise IntegrityError("not a DSSE envelope") from None
    return envelope
