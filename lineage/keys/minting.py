"""Makes new data keys: one for each object, wrapped at birth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from lineage.digest import frame
from lineage.keys.keytable import WrappedKey
from lineage.keys.sealing import KEY_BYTES, OBJECT_ID_BYTES, Seal
from lineage.keys.wrapping import KeyUse, WrappingKey


@dataclass(frozen=True, slots=True)
class KeyMinter:
    """Gives every new object an id and a key.

    Attributes:
        workspace_id: 16 bytes.
        wrapping: wraps each key.
        entropy: gives random bytes.
    """

    workspace_id: bytes
    wrapping: WrappingKey
    entropy: Callable[[int], bytes] = field(repr=False)

    def mint(self, dataset: str, zone: str) -> tuple[Seal, WrappedKey]:
        """A new object's seal, and the row that the key table must hold before it is named."""
        seal = Seal(self.workspace_id, self.entropy(OBJECT_ID_BYTES), self.entropy(KEY_BYTES))
        use = KeyUse(self.entropy(16).hex(), seal.object_id, dataset, zone)
        return seal, WrappedKey(use, self.wrapping.id, self.wrapping.wrap(seal.key, use))


def derived_seal(workspace_id: bytes, object_id: bytes, stage_key: bytes) -> Seal:
    """The seal of a stage file: its key follows from the stage key (HKDF-SHA-256, RFC 5869).

    Stage files come and go by the thousand and are never published, so their keys have
    no rows in the key table.
    """
    info = frame(b"shardline/stage-key/v1", workspace_id, object_id)
    key = HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=info).derive(stage_key)
    return Seal(workspace_id, object_id, key)
