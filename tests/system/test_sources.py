"""The same documents give the same content, whatever their files are packed in."""

from __future__ import annotations

import gzip
import json
import random
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.build.plan import plan_build
from tests.s3_server import S3Server, s3_server
from tests.system.conftest import Said
from tests.system.world import DATASET, FOUR_SOURCES, HELP, World, copy_world, record, sample_lines

pytestmark = pytest.mark.system


def into_zip(folder: Path, archive: Path) -> None:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
        for path in sorted(folder.rglob("*.*")):
            made.write(path, f"inner/{path.relative_to(folder)}")


def into_tar(folder: Path, archive: Path) -> None:
    with tarfile.open(archive, "w") as made:
        made.add(folder, "inner")
    if archive.suffix == ".gz":
        archive.write_bytes(gzip.compress(archive.read_bytes(), mtime=0))


def pack(world: World, folder: str, archive: str, put: Callable[[Path, Path], None]) -> None:
    """Puts a folder into an archive beside it, and takes the folder away."""
    put(world.root / folder, world.root / archive)
    shutil.rmtree(world.root / folder)


@pytest.mark.parametrize(
    ("archive", "put"), [("zip", into_zip), ("tar", into_tar), ("tar.gz", into_tar)]
)
def test_archives_give_the_content_of_the_files_in_them(
    built: World, fresh: World, archive: str, put: Callable[[Path, Path], None]
) -> None:
    pack(fresh, "text/help", f"text/help.{archive}", put)
    pack(fresh, "text/guide", f"text/guide.{archive}", put)
    spec = FOUR_SOURCES.replace(HELP, f"text/help.{archive}")
    spec = spec.replace('licence = "MPL-2.0"', 'licence = "MPL-2.0"\nformat = "jsonl"')
    fresh.write_spec(spec.replace("text/guide", f"text/guide.{archive}"))
    fresh.build(workers=2)
    assert fresh.content_roots() == built.content_roots()
    assert fresh.verify() == []
    with fresh.read() as book, built.read() as plain:
        assert book.stage_of("ingest") == plain.stage_of("ingest")
        paths = {row["path"] for row in book.table("decisions").to_pylist()}
    assert f"text/help.{archive}!/inner/a.jsonl" in paths
    assert f"text/guide.{archive}!/inner/0.txt" in paths


def test_what_cannot_be_read_of_an_archive_is_in_the_books(fresh: World) -> None:
    into_zip(fresh.root / "text/guide", fresh.root / "text/inner.zip")
    with zipfile.ZipFile(fresh.root / "text/guide.zip", "w") as made:
        made.write(fresh.root / "text/guide/0.txt", "../../escape.txt")
        made.write(fresh.root / "text/inner.zip", "inner.zip")
        link = zipfile.ZipInfo("link.txt")
        link.create_system, link.external_attr = 3, 0o120777 << 16
        made.writestr(link, b"/etc/passwd")
    before = sorted(fresh.root.parent.iterdir())
    fresh.write_spec(FOUR_SOURCES.replace('"text/guide"', '"text/guide.zip"'))
    fresh.build()
    with fresh.read() as book:
        rows = book.table("quarantine").to_pylist()
        kept = {row["path"] for row in book.table("decisions").to_pylist()}
        assert book.stage_of("ingest")["in"]["records"] == 24 + 6 + 3 + 10
    assert {(row["path"], row["reason"]) for row in rows} == {
        ("text/guide.zip!/inner.zip", "nested_archive"),
        ("text/guide.zip!/link.txt", "unreadable_member"),
    }
    assert "text/guide.zip!/../../escape.txt" in kept
    assert sorted(fresh.root.parent.iterdir()) == before
    assert fresh.verify() == []


@pytest.mark.slow
class TestBucket:
    """A build on objects of a real S3 server."""

    @pytest.fixture
    def server(self, tmp_path: Path) -> Iterator[S3Server]:
        with s3_server(tmp_path / "s3") as running:
            yield running

    def test_objects_give_the_content_of_the_same_files(
        self, built: World, fresh: World, server: S3Server, cli: Callable[..., Said]
    ) -> None:
        for folder in ("help", "guide"):
            for path in (fresh.root / "text" / folder).iterdir():
                server.put(f"text/{folder}/{path.name}", path.read_bytes())
            shutil.rmtree(fresh.root / "text" / folder)
        spec = FOUR_SOURCES.replace(HELP, f"s3://cold/{HELP}")
        fresh.write_spec(spec.replace('"text/guide"', '"s3://cold/text/guide"'))
        assert cli("preview", DATASET, "-w", fresh.root).code == 0
        # A process of its own: workers have the environment in which the first of them began.
        command = [sys.executable, "-m", "shardline", "build", DATASET, "--workers", "2", "-q"]
        subprocess.run(command, cwd=fresh.root, check=True, capture_output=True)
        assert fresh.content_roots() == built.content_roots()
        with fresh.read() as book, built.read() as plain:
            assert book.stage_of("ingest") == plain.stage_of("ingest")
            paths = {row["path"] for row in book.table("decisions").to_pylist()}
        assert {"s3://cold/text/help/a.jsonl", "s3://cold/text/guide/0.txt"} <= paths
        assert fresh.verify() == []
        assert not fresh.build().published
        secrets = [server.environment["AWS_SECRET_ACCESS_KEY"], server.endpoint]
        for file in fresh.root.rglob("*"):
            if file.is_file():
                assert not any(secret.encode() in file.read_bytes() for secret in secrets)

    def test_what_is_wrong_with_a_bucket_is_one_clear_error(
        self, fresh: World, server: S3Server, cli: Callable[..., Said], monkeypatch: Any
    ) -> None:
        server.put("text/a.jsonl", record("a text", "a"))
        for name, value, path, what in (
            ("X", "", "s3://no-such-bucket/a.jsonl", "no such bucket"),
            ("X", "", "s3://cold/gone/*.jsonl", "nothing matches"),
            ("AWS_SECRET_ACCESS_KEY", "wrong-key", "s3://cold/text/a.jsonl", "the store refuses"),
        ):
            fresh.write_spec(FOUR_SOURCES.replace(HELP, path))
            with monkeypatch.context() as patch:
                patch.setenv(name, value)
                said = cli("preview", DATASET, "-w", fresh.root)
            assert said.code != 0
            assert said.err.startswith("error: ")
            assert what in said.err
            assert "wrong-key" not in said.err


@pytest.mark.slow
def test_members_of_a_packed_file_feed_several_workers_and_an_append_reads_the_end(
    fresh: World, tmp_path: Path
) -> None:
    # What no reader wants fills the file, so that few documents make several partitions.
    chance = random.Random(7)
    lines = [
        json.dumps(json.loads(line) | {"noise": chance.randbytes(150_000).hex()}).encode() + b"\n"
        for line in [*sample_lines("libreoffice-help", 120), record("the last one", "last")]
    ]
    members = [gzip.compress(line, 1, mtime=0) for line in lines]
    packed = fresh.root / "text/big.jsonl.gz"
    packed.write_bytes(b"".join(members[:-1]))
    fresh.write_spec(FOUR_SOURCES.replace(HELP, "text/big.jsonl.gz"))
    keys = stage_keys(fresh)
    assert len(keys) >= 3
    plain = copy_world(fresh, tmp_path / "plain")
    (plain.root / "text/big.jsonl").write_bytes(b"".join(lines[:-1]))
    plain.write_spec(FOUR_SOURCES.replace(HELP, "text/big.jsonl"))
    fresh.build(workers=2)
    plain.build()
    assert fresh.content_roots() == plain.content_roots()
    packed.write_bytes(b"".join(members))
    assert len(keys - stage_keys(fresh)) == 1
    assert fresh.build().num_new == 1
    assert fresh.verify() == []


def stage_keys(world: World) -> set[str]:
    """Keys of the partitions of the source of help."""
    with world.open() as workspace:
        plan = plan_build(workspace, DATASET)
    return {str(item.stage_key) for item in plan.partitions if item.partition.source == "help"}
