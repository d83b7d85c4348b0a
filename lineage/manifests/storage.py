"""The storage manifest: where a version's bytes rest (frozen, docs/formats.md section 9).

One row an object. It is replaceable: sealing again after a key leak makes another
storage manifest and renames nothing. It is kept as sealed Parquet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from lineage.digest import Digest
from lineage.errors import IntegrityError, NotFound

SCHEMA = pa.schema(
    [
        pa.field("name", pa.string(), nullable=False),
        pa.field("object_id", pa.binary(16), nullable=False),
        pa.field("key_id", pa.string(), nullable=False),
        pa.field("size_bytes", pa.int64(), nullable=False),
        pa.field("sha256", pa.binary(32), nullable=False),
        pa.field("md5", pa.string(), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One sealed object at rest.

    Attributes:
        name: such as ``segment-0001/shard-00000.parquet``.
        object_id: 16 bytes, bound into the sealed bytes.
        key_id: its row in the key table.
        size_bytes: of the sealed bytes.
        sha256: of the sealed bytes; what every arrival is verified against.
        md5: 32 hex digits, the address inside DVC; never an identity.
    """

    name: str
    object_id: bytes
    key_id: str
    size_bytes: int
    sha256: Digest
    md5: str


class StorageManifest:
    """All objects of one version, by name.

    Args:
        objects: in any order; names and object ids are unique.
    """

    def __init__(self, objects: Sequence[StoredObject]) -> None:
        self._by_name = {row.name: row for row in sorted(objects, key=lambda row: row.name)}
        if len(self._by_name) != len(objects):
            raise IntegrityError("a storage manifest names one object twice")

    @property
    def objects(self) -> tuple[StoredObject, ...]:
        """All objects, in the order of their names."""
        return tuple(self._by_name.values())

    @property
    def size_bytes(self) -> int:
        """Sealed bytes of all objects."""
        return sum(row.size_bytes for row in self._by_name.values())

    def object(self, name: str) -> StoredObject:
        """One object.

        Raises:
            NotFound: the version has no object of this name.
        """
        try:
            return self._by_name[name]
        except KeyError:
            raise NotFound(f"{name}: the version has no such object") from None

    def folder(self, name: str) -> tuple[StoredObject, ...]:
        """The objects whose names start with ``name/``."""
        return tuple(row for row in self.objects if row.name.startswith(f"{name}/"))

    def to_table(self) -> pa.Table:
        """The rows as a table of `SCHEMA`."""
        columns = [[_plain(getattr(row, field)) for row in self.objects] for field in SCHEMA.names]
        return pa.table(columns, schema=SCHEMA)


def parse_storage(table: pa.Table) -> StorageManifest:
    """Reads the rows of a storage manifest.

    Raises:
        IntegrityError: the table has other columns.
    """
    if not table.schema.equals(SCHEMA):
        raise IntegrityError("not a storage manifest of a format that this version reads")
    return StorageManifest(
        [StoredObject(**{**row, "sha256": Digest(row["sha256"])}) for row in table.to_pylist()]
    )


def _plain(value: object) -> object:
    return value.raw if isinstance(value, Digest) else value
