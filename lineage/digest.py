"""Digests, canonical JSON and framing: the three ways bytes get an identity.

A digest is SHA-256 everywhere. Canonical JSON is RFC 8785; every integer stands
as a decimal string, so that no reader loses 64-bit values to a double.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rfc8785

from lineage.errors import IntegrityError

_PREFIX = "sha256:"
_READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, order=True)
class Digest:
    """A SHA-256 digest. Text form: ``sha256:`` and 64 lower-case hex digits.

    Attributes:
        raw: 32 bytes.
    """

    raw: bytes

    def __post_init__(self) -> None:
        if len(self.raw) != 32:
            raise IntegrityError(f"a digest has 32 bytes, not {len(self.raw)}")

    @classmethod
    def parse(cls, text: str) -> Digest:
        """Reads the text form.

        Raises:
            IntegrityError: the text is not ``sha256:`` and 64 lower-case hex digits.
        """
        hexed = text.removeprefix(_PREFIX)
        if not text.startswith(_PREFIX) or len(hexed) != 64 or hexed.strip("0123456789abcdef"):
            raise IntegrityError(f"not a digest: {text[:80]!r}")
        return cls(bytes.fromhex(hexed))

    @property
    def hex(self) -> str:
        """64 lower-case hex digits."""
        return self.raw.hex()

    def __str__(self) -> str:
        return _PREFIX + self.raw.hex()


def digest_of(data: bytes | memoryview) -> Digest:
    """The digest of bytes in memory."""
    return Digest(hashlib.sha256(data).digest())


def digest_of_file(path: Path) -> Digest:
    """The digest of a file's bytes, read in blocks of 1 MiB.

    Raises:
        OSError: the file cannot be read.
    """
    hasher = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_READ_BYTES):
            hasher.update(block)
    return Digest(hasher.digest())


def frame(*parts: bytes) -> bytes:
    """Joins parts so that no two lists of parts give the same bytes.

    Each part is preceded by its length as u64 little-endian. The first part is a
    domain, such as ``b"shardline/document-id/v1"``.
    """
    framed: list[bytes] = []
    for part in parts:
        framed += (len(part).to_bytes(8, "little"), part)
    return b"".join(framed)


def canonical_json(value: object) -> bytes:
    """RFC 8785 bytes of a value; integers become decimal strings.

    Allowed: None, bool, int, str, Digest, mappings with str keys, sequences.

    Raises:
        TypeError: a float or another type; identities hold no such values.
    """
    return rfc8785.dumps(_plain(value))


def _plain(value: object) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | Digest):
        return str(value)
    if isinstance(value, Mapping):
        return {_key(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_plain(item) for item in value]
    raise TypeError(f"canonical JSON holds no {type(value).__name__}")


def _key(key: object) -> str:
    if isinstance(key, str):
        return key
    raise TypeError("canonical JSON has string keys only")
