"""Sources in a bucket are listed, planned and read like local ones."""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flows.sources import _matches, source_files
from lineage.errors import ConfigError, Conflict, NotFound
from lineage.ids import IdHasher
from pipelines.ingest.partition import Partition, plan_source
from pipelines.ingest.places.opening import LocalFiles
from pipelines.ingest.read import read_partition
from pipelines.spec.source import SourceSpec
from tests.s3_server import S3Server, s3_server

HASHER = IdHasher(b"k" * 32)
LINES = b"".join(b'{"text": "line %d of some length"}\n' % i for i in range(20_000))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with s3_server(tmp_path_factory.mktemp("s3")) as running:
        yield running


def source(path: str, format_: str = "jsonl") -> SourceSpec:
    return SourceSpec("wiki", path, format_, "MIT", "user", "2026-01")


@dataclass(frozen=True)
class Both:
    """The same files in a folder and in a bucket."""

    root: Path
    server: S3Server
    name: str

    def write(self, name: str, data: bytes) -> None:
        path = self.root / self.name / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        self.server.put(f"{self.name}/{name}", data)

    def plans(
        self, path: str, format_: str = "jsonl", target: int = 100_000
    ) -> tuple[list[Partition], list[Partition]]:
        """Of the folder, and of the bucket."""
        local = source(f"{self.name}/{path}".rstrip("/"), format_)
        there = source(f"s3://cold/{self.name}/{path}", format_)
        return (
            plan_source(local, LocalFiles(self.root), target),
            plan_source(there, source_files(there, self.root), target),
        )

    def texts(self, path: str, format_: str = "jsonl") -> list[list[str]]:
        found = []
        for spec, parts in zip(
            (
                source(f"{self.name}/{path}", format_),
                source(f"s3://cold/{self.name}/{path}", format_),
            ),
            self.plans(path, format_),
            strict=True,
        ):
            files = source_files(spec, self.root)
            chunks = [c for part in parts for c in read_partition(part, spec, files, HASHER, 7)]
            found.append([t for chunk in chunks for t in chunk.records["text"].to_pylist()])
        return found


@pytest.fixture
def both(tmp_path: Path, server: S3Server, request: pytest.FixtureRequest) -> Both:
    return Both(tmp_path, server, request.node.name)


@pytest.mark.slow
class TestBucket:
    def test_a_big_file_is_cut_where_a_local_one_is(self, both: Both) -> None:
        both.write("a.jsonl", LINES)
        local, there = both.plans("a.jsonl")
        assert len(local) > 5
        assert [part.content for part in local] == [part.content for part in there]
        first, second = both.texts("a.jsonl")
        assert first == second
        assert len(first) == 20_000

    def test_folders_and_patterns_name_what_they_name_locally(self, both: Both) -> None:
        for name in (
            "a.jsonl",
            "x/b.jsonl.gz",
            "x/y/c.ndjson",
            ".h/d.jsonl",
            "e.txt",
            "x/.f.jsonl",
        ):
            both.write(name, gzip.compress(LINES[:500]) if name.endswith("gz") else LINES[:400])
        for path in ("", "*.jsonl", "**", "**/*.jsonl*", "x/*.gz", "*/y/c.*", "[x]/?.jsonl.gz"):
            local, there = both.plans(path)
            names = [{file.path for part in plan for file in part.files} for plan in (local, there)]
            assert names[1] == {f"s3://cold/{name}" for name in names[0]}, path

    def test_a_folder_is_no_prefix_of_a_longer_name(self, both: Both) -> None:
        both.write("x/a.jsonl", LINES[:400])
        both.write("xyz/b.jsonl", LINES[:400])
        _, there = both.plans("x/")
        assert [file.path for part in there for file in part.files] == [
            f"s3://cold/{both.name}/x/a.jsonl"
        ]

    def test_archives_and_packed_files_are_read(self, both: Both) -> None:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
            for i in range(20):
                made.writestr(f"{i}.jsonl", LINES[:400])
        both.write("a.zip", out.getvalue())
        packed = b"".join(gzip.compress(LINES[at : at + 3400]) for at in range(0, 34_000, 3400))
        both.write("b.jsonl.gz", packed)
        for path in ("a.zip", "b.jsonl.gz"):
            local, there = both.plans(path, target=2000)
            assert [part.content for part in local] == [part.content for part in there]
            first, second = both.texts(path)
            assert first == second != []

    @pytest.mark.parametrize("format_", ["parquet", "arrow"])
    def test_files_of_rows_are_read_in_ranges(self, both: Both, format_: str) -> None:
        table = pa.table({"text": [f"row {i} " + "x" * 100 for i in range(5000)]})
        out = io.BytesIO()
        if format_ == "parquet":
            pq.write_table(table, out, row_group_size=500, compression="none")
        else:
            with pa.ipc.new_stream(out, table.schema) as writer:
                writer.write_table(table, max_chunksize=500)
        both.write(f"a.{format_}", out.getvalue())
        local, there = both.plans(f"a.{format_}", format_)
        assert [part.content for part in local] == [part.content for part in there]
        assert len(there) > 2
        first, second = both.texts(f"a.{format_}", format_)
        assert first == second == table["text"].to_pylist()

    def test_an_object_that_is_replaced_after_the_plan_is_a_conflict(self, both: Both) -> None:
        both.write("a.jsonl", LINES[:400])
        _, parts = both.plans("a.jsonl")
        both.write("a.jsonl", LINES[:400].replace(b"line 1", b"line X"))
        spec = source(f"s3://cold/{both.name}/a.jsonl")
        files = source_files(spec, both.root)
        with pytest.raises(Conflict, match=r"a\.jsonl changed since it was listed"):
            list(read_partition(parts[0], spec, files, HASHER, 7))

    def test_nothing_there_is_not_found(self, both: Both) -> None:
        both.write("a.txt", b"text")
        for path in ("", "*.jsonl", "gone.jsonl", "gone/"):
            spec = source(f"s3://cold/{both.name}/{path}")
            with pytest.raises(NotFound, match="source wiki: .*nothing matches"):
                source_files(spec, both.root).list(spec)


def test_other_paths_are_local_and_a_bucket_has_a_name(tmp_path: Path) -> None:
    assert isinstance(source_files(source("a.jsonl"), tmp_path), LocalFiles)
    with pytest.raises(ConfigError, match="names no bucket"):
        source_files(source("s3:///a.jsonl"), tmp_path)


@pytest.mark.parametrize(
    ("path", "pattern", "matches"),
    [
        ("a.jsonl", "*.jsonl", True),
        ("x/a.jsonl", "*.jsonl", False),
        ("x/a.jsonl", "**/*.jsonl", True),
        ("a.jsonl", "**/*.jsonl", True),
        ("x/y/a.jsonl", "**", True),
        ("x/y/a.jsonl", "x/**", True),
        ("x/a.jsonl", "x/**/y/*", False),
        ("x/1/2/y/a", "x/**/y/*", True),
        (".h/a.jsonl", "**", False),
        ("x/.h/a.jsonl", "**/*.jsonl", False),
        ("x/.a.jsonl", "x/*", False),
        ("x/.a.jsonl", "x/.*", True),
    ],
)
def test_patterns_go_part_by_part(path: str, pattern: str, matches: bool) -> None:
    assert _matches(path.split("/"), pattern.split("/")) is matches
