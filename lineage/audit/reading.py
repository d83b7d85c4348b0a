"""What a question reads: manifests and tables of versions, through the gate.

Each reading asks once for each dataset, so the ledger shows who asked about what.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

import pyarrow as pa

from lineage.audit.index import LedgerIndex
from lineage.errors import IntegrityError
from lineage.keys.gate import AccessRequest, KeyLease
from lineage.keys.sealing import open_parquet
from lineage.manifests.content import ContentManifest
from lineage.manifests.storage import StorageManifest, StoredObject
from lineage.versions import Version, read_content, read_storage
from lineage.workspace import Workspace


class Objects(Protocol):
    """Where stored bytes are found; the tiers implement it."""

    def open(self, obj: StoredObject) -> BinaryIO:
        """An object as a seekable file, wherever it lies: a question moves nothing.

        Its bytes are not verified: its seal shows whether they are the recorded ones.

        Raises:
            NotFound: it is on no tier.
        """


class Reading:
    """One question's view of a workspace: an index, and what it opens.

    Args:
        purpose: ``audit``, or ``lookup`` for a question about a text.
    """

    def __init__(self, workspace: Workspace, objects: Objects, purpose: str) -> None:
        self.workspace = workspace
        self._objects = objects
        self._purpose = purpose
        self._leases: dict[tuple[str, str], KeyLease] = {}
        self._contents: dict[str, ContentManifest] = {}
        self._storages: dict[str, StorageManifest] = {}
        self.index = LedgerIndex(workspace.ledger.entries())

    def lease(self, dataset: str, zone: str = "processed") -> KeyLease:
        """The keys of a dataset; the first time, an access entry is appended.

        Raises:
            AccessDenied: no grant allows it.
        """
        if (dataset, zone) not in self._leases:
            signer = self.workspace.signer("owner")
            request = AccessRequest(signer, dataset, zone, self._purpose)
            self._leases[dataset, zone] = self.workspace.gate.release(request)
        return self._leases[dataset, zone]

    def content(self, version: Version) -> ContentManifest:
        """The verified content manifest of a version."""
        if version.name not in self._contents:
            lease = self.lease(version.dataset)
            self._contents[version.name] = read_content(self._manifests, version, lease)
        return self._contents[version.name]

    def storage(self, version: Version) -> StorageManifest:
        """The verified storage manifest of a version."""
        if version.name not in self._storages:
            lease = self.lease(version.dataset)
            self._storages[version.name] = read_storage(self._manifests, version, lease)
        return self._storages[version.name]

    def table(self, version: Version, name: str) -> pa.Table:
        """A whole table of a version, such as ``decisions``."""
        parts = [
            self.read(version.dataset, stored)
            for stored in self.storage(version).objects
            if stored.name.startswith(f"records/{name}-")
        ]
        return pa.concat_tables(parts)

    def spans(self, version: Version) -> Iterator[tuple[int, str, StoredObject]]:
        """Every shard of a version: number, name of its samples, and its spans object."""
        storage, shard = self.storage(version), 0
        for segment in self.content(version).segments:
            for number in range(len(segment.shard_samples)):
                name = f"{segment.name}/shard-{number:05d}.parquet"
                yield shard, name, storage.object(f"{segment.name}/spans-{number:05d}.parquet")
                shard += 1

    def read(
        self, dataset: str, stored: StoredObject, columns: list[str] | None = None
    ) -> pa.Table:
        """One object as a table, or some columns of it.

        Raises:
            IntegrityError: its bytes are not those that were recorded.
        """
        seal = self.lease(dataset).seal(stored.object_id)
        try:
            with (
                self._objects.open(stored) as file,
                open_parquet(pa.PythonFile(file), seal) as sealed,
            ):
                return sealed.read(columns=columns)
        except (OSError, pa.ArrowInvalid, IntegrityError):
            raise IntegrityError(f"object {stored.name}: changed bytes, or another key") from None

    @property
    def _manifests(self) -> Path:
        return self.workspace.root / "manifests"
