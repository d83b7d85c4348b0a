"""Wrapping keys: keys for keys (frozen, docs/formats.md section 4)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from lineage.digest import frame
from lineage.errors import AccessDenied, Conflict, IntegrityError, NotFound
from lineage.keys.sealing import KEY_BYTES, NONCE_BYTES

Entropy = Callable[[int], bytes]


@dataclass(frozen=True, slots=True)
class KeyUse:
    """What a key is for; all of it is bound into the wrapped key.

    Attributes:
        key_id: 32 hex digits.
        object_id: 16 bytes; for a key that seals no object, its key id's bytes.
        dataset: the dataset's name, or "" for the workspace's own keys.
        zone: ``raw``, ``processed`` or ``system``.
    """

    key_id: str
    object_id: bytes
    dataset: str
    zone: str


class WrappingKey(Protocol):
    """Wraps and unwraps keys. Each call may reach a key service and be slow."""

    @property
    def id(self) -> str:
        """Names the key, 32 hex digits; says nothing about its bytes."""

    def wrap(self, key: bytes, use: KeyUse) -> bytes:
        """Wraps 32 bytes for one use."""

    def unwrap(self, wrapped: bytes, use: KeyUse) -> bytes:
        """Gives the 32 bytes back.

        Raises:
            IntegrityError: another key or another use, or changed bytes.
        """


class FileWrappingKey:
    """A wrapping key in a file that its owner alone can read: 64 hex digits.

    Args:
        key: 32 bytes.
        entropy: gives random bytes for nonces.
    """

    def __init__(self, key: bytes, entropy: Entropy) -> None:
        if len(key) != KEY_BYTES:
            raise IntegrityError(f"a wrapping key has {KEY_BYTES} bytes")
        self._key = key
        self._entropy = entropy

    @classmethod
    def create(cls, path: Path, entropy: Entropy) -> FileWrappingKey:
        """Makes a new key file, mode 0600.

        Raises:
            Conflict: the file is there already.
        """
        key = entropy(KEY_BYTES)
        write_secret(path, key.hex().encode() + b"\n")
        return cls(key, entropy)

    @classmethod
    def open(cls, path: Path, entropy: Entropy) -> FileWrappingKey:
        """Reads a key file.

        Raises:
            NotFound: there is no such file.
            AccessDenied: others than its owner can read it.
            IntegrityError: it holds no key.
        """
        try:
            return cls(bytes.fromhex(read_secret(path).decode("ascii").strip()), entropy)
        except ValueError:
            raise IntegrityError(f"{path}: not a wrapping key", "restore it from escrow") from None

    @property
    def id(self) -> str:
        digest = hashlib.sha256(frame(b"shardline/wrapping-key-id/v1", self._key))
        return digest.hexdigest()[:32]

    def wrap(self, key: bytes, use: KeyUse) -> bytes:
        nonce = self._entropy(NONCE_BYTES)
        return nonce + AESGCM(self._key).encrypt(nonce, key, self._aad(use))

    def unwrap(self, wrapped: bytes, use: KeyUse) -> bytes:
        nonce, body = wrapped[:NONCE_BYTES], wrapped[NONCE_BYTES:]
        try:
            return AESGCM(self._key).decrypt(nonce, body, self._aad(use))
        except (InvalidTag, ValueError):
            raise IntegrityError(f"key {use.key_id}: wrong wrapping key or changed bytes") from None

    def _aad(self, use: KeyUse) -> bytes:
        return frame(
            b"shardline/wrap/v1",
            use.key_id.encode(),
            use.object_id,
            use.dataset.encode(),
            use.zone.encode(),
            self.id.encode(),
        )


def write_secret(path: Path, data: bytes) -> None:
    """Writes a new file that its owner alone can read, durable on return.

    Raises:
        Conflict: the file is there already.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise Conflict(f"{path} is there already", "a key file is never overwritten") from None
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def read_secret(path: Path) -> bytes:
    """Reads a file that only its owner may read.

    Raises:
        NotFound: there is no such file.
        AccessDenied: its mode lets others read it.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise NotFound(
            f"{path}: the key file is missing", "restore it from escrow; it is never made anew"
        ) from None
    if mode & 0o077:
        raise AccessDenied(f"{path}: others can read this key file", f"chmod 600 {path}")
    return path.read_bytes()
