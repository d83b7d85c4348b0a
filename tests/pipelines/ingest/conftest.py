from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

from lineage.ids import IdHasher
from pipelines.ingest.partition import Partition, plan_source
from pipelines.ingest.places.opening import LocalFiles
from pipelines.ingest.read import read_partition
from pipelines.schema import QUARANTINE, RECORDS
from pipelines.spec.source import SourceSpec

HASHER = IdHasher(b"k" * 32)


@dataclass(frozen=True)
class Reading:
    records: pa.Table
    quarantine: pa.Table

    @property
    def texts(self) -> list[str]:
        texts: list[str] = self.records.column("text").to_pylist()
        return texts

    @property
    def reasons(self) -> list[str]:
        reasons: list[str] = self.quarantine.column("reason").to_pylist()
        return reasons

    @property
    def num_bytes(self) -> int:
        tables = (self.records, self.quarantine)
        return sum(sum(table.column("num_bytes").to_pylist()) for table in tables)

    @property
    def identities(self) -> set[tuple[bytes, bytes, bytes, bytes, str]]:
        names = ("document_id", "shuffle_key", "content_key", "raw_content_id", "text")
        return set(zip(*(self.records.column(name).to_pylist() for name in names), strict=True))


class Folder:
    """A workspace's root with files in it, planned and read as a build does."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = LocalFiles(root)

    def write(self, name: str, data: bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def source(self, path: str, format: str = "jsonl", **fields: str) -> SourceSpec:  # noqa: A002
        return SourceSpec("wiki", path, format, "MIT", "user", "2026-01", **fields)

    def plan(self, source: SourceSpec, target_bytes: int = 1 << 20) -> list[Partition]:
        return plan_source(source, self.files, target_bytes)

    def read_planned(
        self, source: SourceSpec, parts: list[Partition], chunk_bytes: int = 1 << 20
    ) -> Reading:
        chunks = [
            chunk
            for part in parts
            for chunk in read_partition(
                part, source, self.files, HASHER, 7, chunk_bytes=chunk_bytes
            )
        ]
        for chunk in chunks:
            chunk.records.validate(full=True)
            assert chunk.records.schema == RECORDS
            assert chunk.quarantine.schema == QUARANTINE
        return Reading(
            pa.concat_tables([RECORDS.empty_table(), *(chunk.records for chunk in chunks)]),
            pa.concat_tables([QUARANTINE.empty_table(), *(chunk.quarantine for chunk in chunks)]),
        )

    def read(
        self, source: SourceSpec, target_bytes: int = 1 << 20, chunk_bytes: int = 1 << 20
    ) -> Reading:
        return self.read_planned(source, self.plan(source, target_bytes), chunk_bytes)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    root = tmp_path / "workspace"
    root.mkdir()
    return Folder(root)


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """For property tests, whose examples write over each other."""
    return Folder(tmp_path_factory.mktemp("shared"))
