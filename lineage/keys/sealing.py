"""Sealing: bytes and Parquet under a data key (frozen, docs/formats.md section 3).

AES-GCM with a 256-bit key for each object. The additional data binds the domain,
the workspace and the object id, so that no object can stand in for another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from lineage.digest import frame
from lineage.errors import IntegrityError

KEY_BYTES = 32
OBJECT_ID_BYTES = 16
NONCE_BYTES = 12
_MAGIC = b"shardln1"
# An encrypted Parquet file counts row groups in a signed 16-bit number.
MAX_ROW_GROUPS = 32_767


@dataclass(frozen=True, slots=True)
class Seal:
    """A data key together with the object it seals.

    Attributes:
        workspace_id: 16 bytes.
        object_id: 16 random bytes, chosen before the object is written.
        key: 32 bytes; never shown.
    """

    workspace_id: bytes
    object_id: bytes
    key: bytes = field(repr=False)

    def __post_init__(self) -> None:
        # pyarrow takes a 16-byte key without a word and seals with AES-128.
        if len(self.key) != KEY_BYTES:
            raise ValueError(f"a data key has {KEY_BYTES} bytes")
        if len(self.object_id) != OBJECT_ID_BYTES or len(self.workspace_id) != OBJECT_ID_BYTES:
            raise ValueError(f"an object id and a workspace id have {OBJECT_ID_BYTES} bytes")

    def aad(self, domain: bytes) -> bytes:
        """The additional data of AES-GCM."""
        return frame(domain, self.workspace_id, self.object_id)


def seal_bytes(data: bytes, seal: Seal, nonce: bytes) -> bytes:
    """Seals bytes: magic (8), object id (16), nonce (12), ciphertext and tag.

    Args:
        nonce: 12 random bytes, never used twice under one key.
    """
    sealed = AESGCM(seal.key).encrypt(nonce, data, seal.aad(b"shardline/sealed-bytes/v1"))
    return _MAGIC + seal.object_id + nonce + sealed


def object_id_of(sealed: bytes) -> bytes:
    """The object id that sealed bytes name in clear.

    Raises:
        IntegrityError: these are no sealed bytes of this format.
    """
    if len(sealed) < len(_MAGIC) + OBJECT_ID_BYTES or not sealed.startswith(_MAGIC):
        raise IntegrityError("not sealed bytes of a format that this version reads")
    return sealed[len(_MAGIC) : len(_MAGIC) + OBJECT_ID_BYTES]


def open_bytes(sealed: bytes, seal: Seal) -> bytes:
    """Opens what `seal_bytes` made.

    Raises:
        IntegrityError: another object, another key, or changed bytes.
    """
    if object_id_of(sealed) != seal.object_id:
        raise IntegrityError(f"object {seal.object_id.hex()}: another object lies in its place")
    start = len(_MAGIC) + OBJECT_ID_BYTES
    nonce, body = sealed[start : start + NONCE_BYTES], sealed[start + NONCE_BYTES :]
    try:
        return AESGCM(seal.key).decrypt(nonce, body, seal.aad(b"shardline/sealed-bytes/v1"))
    except (InvalidTag, ValueError):  # the latter where even the nonce is cut off
        raise IntegrityError(f"object {seal.object_id.hex()}: wrong key or changed bytes") from None


def parquet_writer(
    path: Path,
    schema: pa.Schema,
    seal: Seal,
    *,
    compression: str = "zstd",
) -> pq.ParquetWriter:
    """A writer of one sealed Parquet file; the caller closes it, then syncs the file.

    Args:
        compression: ``lz4`` for token shards, ``zstd`` for text.
    """
    properties = pe.create_encryption_properties(
        seal.key, aad_prefix=_parquet_aad(seal), store_aad_prefix=False
    )
    return pq.ParquetWriter(
        path,
        schema,
        compression=compression,
        use_dictionary=False,
        write_statistics=False,
        encryption_properties=properties,
    )


def open_parquet(path: Path | pa.NativeFile, seal: Seal) -> pq.ParquetFile:
    """Opens one sealed Parquet file; its key stays in memory until it is closed.

    Raises:
        IntegrityError: another object, another key, changed bytes, or no sealed Parquet.
        NotFound is not raised: a missing file is FileNotFoundError.
    """
    try:
        return pq.ParquetFile(path, decryption_properties=parquet_properties(seal))
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowInvalid):
        raise IntegrityError(
            f"object {seal.object_id.hex()}: wrong key, another object or changed bytes"
        ) from None


def parquet_properties(seal: Seal) -> pe.FileDecryptionProperties:
    """What pyarrow needs to open the sealed file of `seal`, for datasets of many files."""
    return pe.create_decryption_properties(seal.key, aad_prefix=_parquet_aad(seal))


def _parquet_aad(seal: Seal) -> bytes:
    return seal.aad(b"shardline/sealed-parquet/v1")
