"""Commitments to documents, for proofs to outsiders (frozen, docs/formats.md section 8).

The leaf of a document binds its ids and its length and hides them behind a salt, so that
a proof for one document shows nothing of its neighbours. The salts come from one key:
when that is destroyed, no leaf can be opened or tested any more. A hole has the same leaf
everywhere. The leaves' 32 bytes are the leaf *data* of an RFC 6962 tree.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lineage.digest import Digest, frame
from lineage.errors import IntegrityError, NotFound
from lineage.ledger.merkle import RunningRoot, inclusion_proof, leaf_hash, verify_inclusion
from lineage.tables import binary_matrix

Bytes = npt.NDArray[np.uint8]

SALT_KEY_BYTES = 32
HOLE_LEAF = hashlib.sha256(frame(b"shardline/hole/v1")).digest()
_SALT = b"shardline/salt/v1"
_COMMITMENT = b"shardline/document-commitment/v1"
_ID_FIELDS = ("salt", "document_id", "content_id")


@dataclass(frozen=True, slots=True)
class DocumentProof:
    """What an outsider needs, beside a root that he trusts, to see that a document is there.

    Attributes:
        index: 0-based position among the documents, holes counted.
        size: number of documents, holes counted.
        salt, document_id, content_id: 32 bytes each.
        num_tokens: tokens of the document, its end token included.
        path: 32-byte hashes from the leaf's sibling upwards.
    """

    index: int
    size: int
    salt: bytes
    document_id: bytes
    content_id: bytes
    num_tokens: int
    path: tuple[bytes, ...]

    def to_json(self) -> dict[str, str | int | list[str]]:
        """The proof as hex strings and integers."""
        ids = {name: getattr(self, name).hex() for name in _ID_FIELDS}
        numbers = {"index": self.index, "size": self.size, "num_tokens": self.num_tokens}
        return {**ids, **numbers, "path": [item.hex() for item in self.path]}

    @classmethod
    def parse(cls, value: Mapping[str, object]) -> DocumentProof:
        """Reads `to_json` back; integers may stand as decimal strings.

        Raises:
            IntegrityError: a member is missing or of another kind.
        """
        try:
            path = value["path"]
            if not isinstance(path, list):
                raise TypeError
            return cls(
                index=int(str(value["index"])),
                size=int(str(value["size"])),
                num_tokens=int(str(value["num_tokens"])),
                path=tuple(bytes.fromhex(item) for item in path),
                **{name: bytes.fromhex(str(value[name])) for name in _ID_FIELDS},
            )
        except (KeyError, TypeError, ValueError):
            raise IntegrityError("not a proof that this version reads") from None


def salts(salt_key: bytes, document_ids: Sequence[bytes]) -> list[bytes]:
    """The salt of each document: HMAC-SHA-256, 32 bytes each.

    Args:
        salt_key: 32 bytes.
        document_ids: 32 bytes each.

    Raises:
        ValueError: a key of another length.
    """
    if len(salt_key) != SALT_KEY_BYTES:
        raise ValueError(f"a salt key has {SALT_KEY_BYTES} bytes")
    keyed = hmac.new(salt_key, frame(_SALT), hashlib.sha256)
    return [_salt(keyed.copy(), item) for item in document_ids]


def commitment_leaf(salt: bytes, document_id: bytes, content_id: bytes, num_tokens: int) -> bytes:
    """The leaf data of a document, 32 bytes.

    Raises:
        ValueError: a salt or an id has not 32 bytes, or a negative number of tokens.
    """
    if not len(salt) == len(document_id) == len(content_id) == 32 or num_tokens < 0:
        raise ValueError("a commitment has a salt and ids of 32 bytes and a number of tokens")
    tokens = struct.pack("<Q", num_tokens)
    return hashlib.sha256(frame(_COMMITMENT, salt, document_id, content_id, tokens)).digest()


def commitment_leaves(spans: Iterable[pa.Table], salt_key: bytes) -> list[bytes]:
    """The leaf data of all documents, 32 bytes each.

    Args:
        spans: SPANS of the shards in their order; only document_id, content_id and
            num_tokens are read.
        salt_key: 32 bytes.
    """
    return [leaf for table in spans for leaf in _leaves_of(table, salt_key)]


def commitment_root(spans: Iterable[pa.Table], salt_key: bytes) -> Digest:
    """The RFC 6962 root over `commitment_leaves`. Memory: that of one table of spans."""
    root = RunningRoot()
    for table in spans:
        root.add([leaf_hash(leaf) for leaf in _leaves_of(table, salt_key)])
    return Digest(root.root())


def prove_document(spans: Iterable[pa.Table], salt_key: bytes, index: int) -> DocumentProof:
    """Proves that a document stands under `commitment_root` of the same spans and key.

    Args:
        index: 0-based row over all spans, one table after the other.

    Raises:
        NotFound: no such row, or it is a hole.
    """
    tables = list(spans)
    document_id, content_id, num_tokens = _row(tables, index)
    if document_id is None or content_id is None:
        raise NotFound(f"row {index} of the spans is a hole: there is no document to prove")
    hashes = [leaf_hash(leaf) for leaf in commitment_leaves(tables, salt_key)]
    salt = salts(salt_key, [document_id])[0]
    path = tuple(inclusion_proof(hashes, index))
    return DocumentProof(index, len(hashes), salt, document_id, content_id, num_tokens, path)


def verify_document(proof: DocumentProof, root: Digest) -> None:
    """Checks a proof; needs no key.

    The caller MUST have the root from a manifest or a ledger entry that it trusts, and
    MUST check itself that the document id in the proof is the one it asked about.

    Raises:
        IntegrityError: the proof does not lead to the root.
    """
    try:
        leaf = commitment_leaf(proof.salt, proof.document_id, proof.content_id, proof.num_tokens)
    except (ValueError, struct.error):
        raise IntegrityError("not a proof of a document: ids of another length") from None
    hashed = leaf_hash(leaf)
    if not verify_inclusion(hashed, proof.index, proof.size, proof.path, root.raw):
        raise IntegrityError(
            f"the proof of row {proof.index} does not lead to the root {root}",
            "ask for the proof and the root of one and the same version",
        )


def _salt(keyed: hmac.HMAC, document_id: bytes) -> bytes:
    keyed.update(frame(document_id))
    return keyed.digest()


def _leaves_of(spans: pa.Table, salt_key: bytes) -> list[bytes]:
    ids = _rows_of(binary_matrix(spans["document_id"]))
    contents = _rows_of(binary_matrix(spans["content_id"]))
    numbers = spans["num_tokens"].to_numpy().astype("<u8")
    tokens = _rows_of(numbers.view(np.uint8).reshape(-1, 8))
    there = spans["document_id"].is_valid().to_pylist()
    # The same bytes as commitment_leaf, framed once: there are hundreds of millions.
    head, word, eight = frame(_COMMITMENT), struct.pack("<Q", 32), struct.pack("<Q", 8)
    leaves = [HOLE_LEAF] * len(ids)
    for i, salt in enumerate(salts(salt_key, ids)):
        if there[i]:
            parts = (head, word, salt, word, ids[i], word, contents[i], eight, tokens[i])
            leaves[i] = hashlib.sha256(b"".join(parts)).digest()
    return leaves


def _rows_of(matrix: Bytes) -> list[bytes]:
    data, width = matrix.tobytes(), matrix.shape[1]
    return [data[at : at + width] for at in range(0, len(data), width)]


def _row(tables: Sequence[pa.Table], index: int) -> tuple[bytes | None, bytes | None, int]:
    at = index
    for table in tables:
        if 0 <= at < table.num_rows:
            row = table.slice(at, 1).select(["document_id", "content_id", "num_tokens"])
            values = row.to_pylist()[0]
            return values["document_id"], values["content_id"], values["num_tokens"]
        at -= table.num_rows
    raise NotFound(f"the spans have no row {index}")
