"""Many small files become few partitions, by content, and every record keeps its place."""

from __future__ import annotations

import gzip
import json
import random
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.digest import digest_of
from lineage.errors import Conflict
from pipelines.ingest.chunk import Chunk
from pipelines.ingest.partition import Partition, plan_file, planned
from pipelines.ingest.places.cuts import Piece, cut_positions, cut_runs
from pipelines.ingest.read import read_partition
from tests.pipelines.ingest.conftest import HASHER

TARGET = 100_000
FORMATS = ["jsonl", "jsonl.gz", "json", "csv", "text", "markdown", "html", "parquet"]
ENDINGS = {"text": "txt", "markdown": "md"}


def text_of(i: int) -> str:
    return f"number {i}: " + "some words that fill a file " * (1 + i % 60)


def write(folder: Any, kind: str, i: int) -> str:
    """One small file of a format, with the document `text_of(i)`."""
    name = f"d/{i % 7}/{i:04}.{ENDINGS.get(kind, kind)}"
    line = json.dumps({"text": text_of(i)}).encode()
    data = {
        "jsonl": line + b"\n",
        "jsonl.gz": gzip.compress(line, mtime=0),
        "json": b"[" + line + b"]",
        "csv": b"text\n" + text_of(i).encode() + b"\n",
    }.get(kind, text_of(i).encode())
    folder.write(name, data)
    if kind == "parquet":
        pq.write_table(pa.table({"text": [text_of(i)]}), folder.root / name)
    return name


def chunks_of(folder: Any, source: Any, part: Partition) -> list[Chunk]:
    return list(read_partition(part, source, folder.files, HASHER, 7))


def paths_of(part: Partition, chunks: list[Chunk]) -> dict[str, str]:
    """The path of each document of a partition, as a build looks it up."""
    found = {}
    for chunk in chunks:
        for row in chunk.records.select(["file", "text"]).to_pylist():
            found[row["text"].strip()] = part.files[row["file"]].shown
    return found


@pytest.mark.parametrize("kind", FORMATS)
def test_small_files_become_few_partitions_and_documents_keep_their_paths(
    folder: Any, kind: str
) -> None:
    wrote = {text_of(i).strip(): write(folder, kind, i) for i in range(300)}
    source = folder.source("d", kind.removesuffix(".gz"))
    parts = folder.plan(source, TARGET)
    total = sum(part.num_bytes for part in parts) + 4096 * 300
    assert total / TARGET / 4 <= len(parts) <= 3 + total / TARGET * 2
    found: dict[str, str] = {}
    for part in parts:
        found |= paths_of(part, chunks_of(folder, source, part))
    assert found == wrote


def test_files_of_several_compressions_are_grouped_apart(folder: Any) -> None:
    for i in range(60):
        write(folder, "jsonl" if i % 2 else "jsonl.gz", i)
    parts = folder.plan(folder.source("d"), 1 << 20)
    assert sorted((part.compression, len(part.files)) for part in parts) == [("", 30), ("gz", 30)]


def test_a_big_file_is_a_partition_by_itself(folder: Any) -> None:
    folder.write("d/big.txt", b"big " * 30_000)
    for i in range(20):
        write(folder, "text", i)
    parts = folder.plan(folder.source("d", "text"), TARGET)
    (big,) = [part for part in parts if part.num_bytes == 120_000]
    assert [file.path for file in big.files] == ["d/big.txt"]
    assert sum(len(part.files) for part in parts) == 21


def test_a_new_file_disturbs_one_partition_and_a_new_name_none(folder: Any) -> None:
    for i in range(400):
        write(folder, "jsonl", i)
    source = folder.source("d")
    before = {part.content for part in folder.plan(source, TARGET)}
    assert len(before) > 8
    (folder.root / "d/0/0000.jsonl").rename(folder.root / "d/5/zz.jsonl")
    assert {part.content for part in folder.plan(source, TARGET)} == before
    write(folder, "jsonl", 1000)
    assert len(before - {part.content for part in folder.plan(source, TARGET)}) == 1


def test_files_can_be_planned_side_by_side(folder: Any) -> None:
    for i in range(100):
        write(folder, "jsonl", i)
    folder.write("d/big.jsonl", b'{"text": "a line"}\n' * 40_000)
    source = folder.source("d")
    files = folder.files.list(source)
    plans = {file.path: plan_file(source, file, folder.files, TARGET) for file in reversed(files)}
    together = planned(source, (plans[file.path] for file in files), TARGET)
    assert together == folder.plan(source, TARGET)
    assert len(plans["d/big.jsonl"].partitions) > 3


@pytest.mark.parametrize("kind", ["jsonl", "text", "parquet"])
def test_a_changed_file_of_a_group_is_named(folder: Any, kind: str) -> None:
    names = [write(folder, kind, i) for i in range(20)]
    source = folder.source("d", kind)
    (part,) = folder.plan(source, 1 << 20)
    other = write(folder, kind, 999)
    (folder.root / other).rename(folder.root / names[7])
    with pytest.raises(Conflict, match=f"{names[7]}' changed since it was planned"):
        chunks_of(folder, source, part)


def test_a_group_of_other_files_is_a_conflict_even_if_none_has_a_digest(folder: Any) -> None:
    for i in range(5):
        write(folder, "text", i)
    source = folder.source("d", "text")
    (part,) = folder.plan(source)
    bare = replace(part, files=tuple(replace(file, content=None) for file in part.files))
    assert chunks_of(folder, source, bare)
    folder.write(part.files[2].path, b"x" * part.files[2].length)
    with pytest.raises(Conflict, match=r"5 files\) changed since"):
        chunks_of(folder, source, bare)


def test_a_file_that_vanishes_between_plan_and_reading_is_named(folder: Any) -> None:
    names = [write(folder, "text", i) for i in range(5)]
    source = folder.source("d", "text")
    (part,) = folder.plan(source)
    (folder.root / names[3]).unlink()
    with pytest.raises(Exception, match=f"{names[3]}.*no such file"):
        chunks_of(folder, source, part)


@given(sizes=st.lists(st.integers(0, 3000), max_size=120), target=st.integers(1, 4000))
@settings(deadline=None)
def test_pieces_that_come_one_by_one_are_cut_like_a_list_of_them(
    sizes: list[int], target: int
) -> None:
    digests = [digest_of(b"%d" % i) for i in range(len(sizes))]
    pieces = [
        Piece(i, size, 0, digest)
        for i, (size, digest) in enumerate(zip(sizes, digests, strict=True))
    ]
    runs = list(cut_runs(iter(pieces), target))
    assert [piece for run in runs for piece in run] == pieces
    ends = [run[-1].start + 1 for run in runs]
    assert ends == cut_positions(sizes, digests, target)


def test_only_a_few_pieces_are_held(folder: Any) -> None:
    chance = random.Random(3)
    taken = 0

    def pieces() -> Any:
        nonlocal taken
        for i in range(20_000):
            taken += 1
            yield Piece(i, 100, 0, digest_of(chance.randbytes(8)))

    given_out = 0
    for run in cut_runs(pieces(), 10_000):
        given_out += len(run)
        assert taken - given_out <= 4 * 10_000 // 100
    assert given_out == 20_000
