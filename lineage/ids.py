"""Names of documents and of their content (frozen, docs/formats.md section 2).

Document ids and content ids are keyed, because a plain hash of a text tells
anybody who holds the text that it is there. The shuffle key is not keyed, so that
two workspaces agree on an order; it is never published.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from lineage.digest import frame

OWN = b"own"
CONTENT = b"content"


class RecordKey(NamedTuple):
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
        # HMAC-SHA-256 as the two hashes it is: `hmac` asks twice the time of short texts.
        self._inner, self._outer = (_begun_with(key, byte) for byte in (0x36, 0x5C))
        self._texts = self._inner.copy()
        self._texts.update(frame(b"shardline/content-id/v1"))
        self._sources: dict[tuple[str, bytes], hashlib._Hash] = {}

    def document_id(self, source: str, record: RecordKey) -> bytes:
        """32 bytes that name one document of one source, wherever it lies."""
        return self.document_ids(source, [record])[0]

    def document_ids(self, source: str, records: Iterable[tuple[bytes, bytes]]) -> list[bytes]:
        """The ids of several documents of a source, each given as `RecordKey` is."""
        begin = {kind: self._begun(source, kind).copy for kind in (OWN, CONTENT)}
        finish, ids = self._outer.copy, []
        for kind, value in records:
            inner, outer = begin[kind](), finish()
            inner.update(len(value).to_bytes(8, "little") + value)
            outer.update(inner.digest())
            ids.append(outer.digest())
        return ids

    def content_id(self, text: bytes) -> bytes:
        """32 bytes that name a text (UTF-8), equal for equal texts."""
        inner, outer = self._texts.copy(), self._outer.copy()
        inner.update(text)
        outer.update(inner.digest())
        return outer.digest()

    def content_ids(self, texts: Iterable[bytes | memoryview]) -> list[bytes]:
        """The ids of several texts, in their order."""
        begin, finish, ids = self._texts.copy, self._outer.copy, []
        for text in texts:
            inner, outer = begin(), finish()
            inner.update(text)
            outer.update(inner.digest())
            ids.append(outer.digest())
        return ids

    def _begun(self, source: str, kind: bytes) -> hashlib._Hash:
        # A frame of parts is the frames of its parts, so what a source's records share is
        # hashed once.
        begun = self._sources.get((source, kind))
        if begun is None:
            begun = self._sources[source, kind] = self._inner.copy()
            begun.update(frame(b"shardline/document-id/v1", source.encode(), kind))
        return begun


def shuffle_key(seed: int, source: str, record: RecordKey) -> bytes:
    """32 bytes whose order is the global shuffle of a dataset.

    Args:
        seed: the spec's seed, 0 to 2**64 - 1.
    """
    return shuffle_keys(seed, source, [record])[0]


def shuffle_keys(seed: int, source: str, records: Iterable[tuple[bytes, bytes]]) -> list[bytes]:
    """The shuffle keys of several records of a source, each given as `RecordKey` is."""
    begin = {kind: _begun_shuffle_key(seed, source, kind).copy for kind in (OWN, CONTENT)}
    keys = []
    for kind, value in records:
        hasher = begin[kind]()
        hasher.update(len(value).to_bytes(8, "little") + value)
        keys.append(hasher.digest())
    return keys


@lru_cache(maxsize=1024)
def _begun_shuffle_key(seed: int, source: str, kind: bytes) -> hashlib._Hash:
    seed_bytes = struct.pack("<Q", seed)
    return hashlib.sha256(frame(b"shardline/shuffle/v1", seed_bytes, source.encode(), kind))


def _begun_with(key: bytes, byte: int) -> hashlib._Hash:
    """A hash over a key as HMAC lays it out: padded to a block of 64 bytes, and masked."""
    return hashlib.sha256(bytes(given ^ byte for given in key.ljust(64, b"\0")))
