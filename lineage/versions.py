"""Versions: what the ledger names, and the two sealed manifests behind each name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow as pa

from lineage.digest import Digest, digest_of
from lineage.errors import ConfigError, IntegrityError, NotFound
from lineage.keys.gate import KeyLease
from lineage.keys.sealing import Seal, open_bytes, open_parquet, parquet_writer
from lineage.ledger.entry import Entry
from lineage.manifests.content import ContentManifest, parse_content
from lineage.manifests.storage import StorageManifest, parse_storage
from lineage.tables import table_root

_SEALED_PARQUET = b"PARE"
_NAME = re.compile(r"([a-z0-9][a-z0-9._-]{0,63})@v([1-9][0-9]{0,8})")


@dataclass(frozen=True, slots=True)
class Version:
    """A published version: what its ledger entry says.

    Attributes:
        dataset, number: ``name@vN``.
        manifest: digest of the content manifest, the version's identity.
        manifest_object, storage_object: object ids of the sealed manifests.
        storage: table root of the storage manifest.
        inputs: digest over the build keys of all partitions and the spec.
        entry_id, position: of the version's ledger entry.
        time: of that entry, UTC.
    """

    dataset: str
    number: int
    manifest: Digest
    manifest_object: bytes
    storage: Digest
    storage_object: bytes
    inputs: Digest
    build: str
    entry_id: str
    position: int
    time: datetime

    @property
    def name(self) -> str:
        """``name@vN``."""
        return f"{self.dataset}@v{self.number}"


def published_versions(entries: Iterable[Entry]) -> list[Version]:
    """All versions that these entries name, oldest first."""
    return [_version(entry) for entry in entries if entry.predicate == "version"]


def latest_version(entries: Iterable[Entry], dataset: str) -> Version | None:
    """The newest version of a dataset, or None."""
    mine = [version for version in published_versions(entries) if version.dataset == dataset]
    return mine[-1] if mine else None


def find_version(entries: Iterable[Entry], name: str) -> Version:
    """The version called ``name@vN``; a bare ``name`` is its newest.

    Raises:
        ConfigError: that is no name of a version.
        NotFound: there is no such version.
    """
    dataset, number = parse_version_name(name)
    mine = [version for version in published_versions(entries) if version.dataset == dataset]
    if not mine:
        raise NotFound(
            f"{name}: no version of {dataset} was published", f"shardline build {dataset}"
        )
    if number is None:
        return mine[-1]
    for version in mine:
        if version.number == number:
            return version
    raise NotFound(f"{name}: {dataset} has versions v1 to v{mine[-1].number}")


def parse_version_name(name: str) -> tuple[str, int | None]:
    """Splits ``name@vN`` or ``name``.

    Raises:
        ConfigError: it is neither.
    """
    match = _NAME.fullmatch(name if "@" in name else f"{name}@v1")
    if match is None:
        raise ConfigError(f"{name!r} names no version", "write NAME@vN, such as corpus@v3")
    return match[1], int(match[2]) if "@" in name else None


def manifest_paths(manifests: Path, dataset: str, number: int) -> tuple[Path, Path]:
    """Where the sealed content manifest and storage manifest of a version lie."""
    folder = manifests / dataset
    return folder / f"v{number:04d}.content", folder / f"v{number:04d}.storage.parquet"


def read_content(manifests: Path, version: Version, lease: KeyLease) -> ContentManifest:
    """Opens a content manifest and verifies it against the ledger.

    Raises:
        NotFound: the file is missing.
        IntegrityError: it is not what the ledger names.
    """
    path, _ = manifest_paths(manifests, version.dataset, version.number)
    data = open_bytes(_bytes(path), lease.seal(version.manifest_object))
    if digest_of(data) != version.manifest:
        raise IntegrityError(f"{path}: not the content manifest that the ledger names")
    return parse_content(data)


def read_storage(manifests: Path, version: Version, lease: KeyLease) -> StorageManifest:
    """Opens a storage manifest and verifies it against the ledger; raises as `read_content`."""
    _, path = manifest_paths(manifests, version.dataset, version.number)
    data = _bytes(path)
    try:
        with open_parquet(pa.BufferReader(data), lease.seal(version.storage_object)) as file:
            table = file.read()
    except (OSError, pa.ArrowInvalid):
        raise IntegrityError(f"{path}: changed bytes") from None
    # The one place that no seal covers, and that pyarrow does not look at.
    if not data.startswith(_SEALED_PARQUET):
        raise IntegrityError(f"{path}: changed bytes")
    if table_root(table) != version.storage:
        raise IntegrityError(f"{path}: not the storage manifest that the ledger names")
    return parse_storage(table)


def write_storage(path: Path, storage: StorageManifest, seal: Seal) -> None:
    """Writes a sealed storage manifest at `path`; the caller syncs and renames."""
    table = storage.to_table()
    with parquet_writer(path, table.schema, seal) as writer:
        writer.write_table(table)


def _version(entry: Entry) -> Version:
    body = entry.body
    return Version(
        dataset=body["dataset"],
        number=int(body["number"]),
        manifest=Digest.parse(body["manifest"]),
        manifest_object=bytes.fromhex(body["manifest_object"]),
        storage=Digest.parse(body["storage"]),
        storage_object=bytes.fromhex(body["storage_object"]),
        inputs=Digest.parse(body["inputs"]),
        build=body["build"],
        entry_id=entry.entry_id,
        position=entry.position,
        time=entry.time,
    )


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise _missing(path) from None


def _missing(path: Path) -> NotFound:
    return NotFound(f"{path}: the manifest is missing", "restore it with Git")
