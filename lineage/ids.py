"""Names of documents and of their content (frozen, docs/formats.md section 2).

Document ids and content ids are keyed, because a plain hash of a text tells
anybody who holds the text that it is there. The shuffle key is not keyed, so that
two workspaces agree on an order; it is never published.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from dataclasses import dataclass
from functools import lru_cache

from lineage.digest import frame

OWN = b"own"
CONTENT = b"content"


@dataclass(frozen=True, slots=True)
class RecordKey:
    """What a source calls a record: its own id, or else the digest of its content.

    Attributes:
        kind: ``OWN`` or ``CONTENT``.
        value: UTF-8 bytes of the record's own id, or 32 bytes of SHA-256.
    """

    kind: bytes
    value: bytes

    @classmethod
    def own(cls, record_id: str) -> RecordKey:
        """The key of a record that names itself."""
        return cls(OWN, record_id.encode("utf-8"))

    @classmethod
    def content(cls, raw: bytes) -> RecordKey:
        """The key of a record without an id: its content as it lies in the source."""
        return cls(CONTENT, hashlib.sha256(raw).digest())


class IdHasher:
    """Makes document ids and content ids under the workspace's id key.

    Args:
        key: 32 bytes.
    """

    def __init__(self, key: bytes) -> None:
        if len(key) != 32:
            raise ValueError("the id key has 32 bytes")
        self._hmac = hmac.new(key, digestmod=hashlib.sha256)
        self._sources: dict[tuple[str, bytes], hmac.HMAC] = {}

    def document_id(self, source: str, record: RecordKey) -> bytes:
        """32 bytes that name one document of one source, wherever it lies."""
        # A frame of parts is the frames of its parts, so what a source's records share is
        # hashed once.
        begun = self._sources.get((source, record.kind))
        if begun is None:
            begun = self._hmac.copy()
            begun.update(frame(b"shardline/document-id/v1", source.encode(), record.kind))
            self._sources[source, record.kind] = begun
        hasher = begun.copy()
        hasher.update(frame(record.value))
        return hasher.digest()

    def content_id(self, text: bytes) -> bytes:
        """32 bytes that name a text (UTF-8), equal for equal texts."""
        hasher = self._hmac.copy()
        hasher.update(frame(b"shardline/content-id/v1"))
        hasher.update(text)
        return hasher.digest()


def shuffle_key(seed: int, source: str, record: RecordKey) -> bytes:
    """32 bytes whose order is the global shuffle of a dataset.

    Args:
        seed: the spec's seed, 0 to 2**64 - 1.
    """
    hasher = _begun_shuffle_key(seed, source, record.kind).copy()
    hasher.update(frame(record.value))
    return hasher.digest()


@lru_cache(maxsize=1024)
def _begun_shuffle_key(seed: int, source: str, kind: bytes) -> hashlib._Hash:
    seed_bytes = struct.pack("<Q", seed)
    return hashlib.sha256(frame(b"shardline/shuffle/v1", seed_bytes, source.encode(), kind))
