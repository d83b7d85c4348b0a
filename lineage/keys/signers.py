"""Signing keys of the workspace's own principals, one protected file each."""

from __future__ import annotations

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from lineage.errors import IntegrityError
from lineage.keys.wrapping import Entropy, read_secret, write_secret


def create_signing_key(path: Path, entropy: Entropy) -> Ed25519PrivateKey:
    """Makes a new Ed25519 key file (PKCS 8 PEM, mode 0600).

    Raises:
        Conflict: the file is there already.
    """
    key = Ed25519PrivateKey.from_private_bytes(entropy(32))
    write_secret(path, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return key


def read_signing_key(path: Path) -> Ed25519PrivateKey:
    """Reads an Ed25519 key file.

    Raises:
        NotFound: there is no such file.
        AccessDenied: others than its owner can read it.
        IntegrityError: it holds no Ed25519 key.
    """
    try:
        key = load_pem_private_key(read_secret(path), password=None)
    except ValueError:
        raise IntegrityError(f"{path}: not a signing key", "restore it from escrow") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise IntegrityError(f"{path}: not an Ed25519 key")
    return key


def public_hex(key: Ed25519PrivateKey) -> str:
    """The public key, 64 hex digits."""
    return key.public_key().public_bytes_raw().hex()
