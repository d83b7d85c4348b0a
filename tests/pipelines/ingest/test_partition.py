from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.digest import Digest, digest_of
from lineage.errors import ConfigError, Conflict
from pipelines.ingest.places.cuts import cut_positions, next_cut
from pipelines.ingest.places.opening import LocalFile

VECTORS = Path(__file__).parents[2] / "vectors" / "partition_cuts.json"


def lines_of(seed: int, count: int) -> list[bytes]:
    """Lines from one byte to a few hundred, as real files have them."""
    chance = random.Random(seed)
    return [chance.randbytes(chance.randrange(200)).hex().encode() + b"\n" for _ in range(count)]


def contents(folder: Any, source: Any, target: int) -> list[Digest]:
    return [part.content for part in folder.plan(source, target)]


def test_the_cuts_are_those_of_the_vector() -> None:
    vector = json.loads(VECTORS.read_text())
    digests = [digest_of(str(i).encode()) for i in range(vector["pieces"]["count"])]
    sizes = [vector["pieces"]["size"]] * len(digests)
    assert cut_positions(sizes, digests, vector["pieces"]["target"]) == vector["pieces"]["ends"]


def test_the_cuts_between_lines_are_those_of_the_vector(folder: Any) -> None:
    vector = json.loads(VECTORS.read_text())["lines"]
    data = b"".join(b"line %d %s\n" % (i, b"x" * (i % 37)) for i in range(vector["count"]))
    folder.write("a.jsonl", data)
    parts = folder.plan(folder.source("a.jsonl"), vector["target"])
    assert [part.files[0].start for part in parts] == vector["starts"]


def test_partitions_tile_the_file_at_line_ends(folder: Any) -> None:
    data = b"".join(lines_of(1, 4000)) + b"the last line has no end"
    folder.write("a.jsonl", data)
    parts = folder.plan(folder.source("a.jsonl"), 8192)
    assert len(parts) > 40
    at = 0
    for part in parts:
        (piece,) = part.files
        assert piece.start == at
        assert part.num_bytes == piece.length
        at += piece.length
        assert part.content == digest_of(data[piece.start : at])
        assert at == len(data) or data[at - 1 : at] == b"\n"
    assert at == len(data)
    assert max(part.num_bytes for part in parts) <= 4 * 8192 + 400


@given(
    lines=st.lists(st.binary(max_size=40), max_size=60),
    target=st.integers(1, 400),
    last=st.binary(max_size=20),
)
@settings(deadline=None, max_examples=60)
def test_any_bytes_are_tiled_and_cut_behind_line_feeds(
    shared_folder: Any, lines: list[bytes], target: int, last: bytes
) -> None:
    data = b"\n".join([*lines, last])
    shared_folder.write("any.jsonl", data)
    parts = shared_folder.plan(shared_folder.source("any.jsonl"), target)
    pieces = [data[p.files[0].start :][: p.files[0].length] for p in parts]
    assert b"".join(pieces) == data
    assert all(piece.endswith(b"\n") for piece in pieces[:-1])
    assert all(pieces) or not data
    assert [part.content for part in parts] == [digest_of(piece) for piece in pieces]


@pytest.mark.parametrize("end", [1 << 20, (1 << 20) + 3, (1 << 20) + 8, (1 << 21) - 1])
def test_a_line_is_cut_alike_wherever_it_lies_in_a_block(tmp_path: Path, end: int) -> None:
    # The reader's block is 1 MiB; a line across its end must hash as any other.
    tail = b"".join(lines_of(3, 400))
    (tmp_path / "f").write_bytes(b"x" * (end - 1) + b"\n" + tail)
    size, start = end + len(tail), end - 5000
    moved = (b"x" * (end - 1) + b"\n" + tail)[start:]
    (tmp_path / "g").write_bytes(moved)
    with LocalFile(tmp_path / "g") as opened:
        there = next_cut(opened, 0, size - start, 6000)
    with LocalFile(tmp_path / "f") as opened:
        assert next_cut(opened, start, size, 6000) == start + there


def test_an_inserted_line_disturbs_at_most_two_partitions(folder: Any) -> None:
    lines = lines_of(2, 3000)
    source = folder.source("a.jsonl")
    folder.write("a.jsonl", b"".join(lines))
    before = contents(folder, source, 8192)
    chance = random.Random(5)
    lost = []
    for place in [0, 3000, *(chance.randrange(3000) for _ in range(60))]:
        new = chance.randbytes(50).hex().encode() + b"\n"
        folder.write("a.jsonl", b"".join([*lines[:place], new, *lines[place:]]))
        lost.append(len(set(before) - set(contents(folder, source, 8192))))
    assert max(lost) <= 2
    assert sum(lost) < 1.2 * len(lost)


def test_many_equal_lines_still_give_partitions_of_a_sane_size(folder: Any) -> None:
    for line in (b"\n", b"{}\n", b'{"text": "again"}\n'):
        folder.write("a.jsonl", line * 20_000)
        sizes = [part.num_bytes for part in folder.plan(folder.source("a.jsonl"), 4096)]
        assert min(sizes[:-1]) >= 4096 // 16
        assert max(sizes) <= 4 * 4096 + len(line)


def test_a_renamed_file_changes_no_content(folder: Any) -> None:
    for i in range(40):
        folder.write(f"lines/{i:02}.jsonl", b"".join(lines_of(i, 100)))
        folder.write(f"texts/{i:02}.txt", b"".join(lines_of(i, 100)))
    for path, kind in (("lines", "jsonl"), ("texts", "text")):
        source = folder.source(path, kind)
        before = contents(folder, source, 20_000)
        first = min((folder.root / path).iterdir())
        first.rename(first.with_name("zz" + first.suffix))
        assert sorted(contents(folder, source, 20_000)) == sorted(before)


def test_an_added_text_file_disturbs_one_group(folder: Any) -> None:
    for i in range(200):
        folder.write(f"{i:03}.txt", b"".join(lines_of(i, 20)))
    source = folder.source("*.txt", "text")
    before = contents(folder, source, 50_000)
    assert len(before) > 5
    folder.write("0000.txt", b"a new file")
    assert len(set(before) - set(contents(folder, source, 50_000))) == 1


def test_row_groups_are_grouped_and_a_new_one_disturbs_one_partition(folder: Any) -> None:
    source = folder.source("a.parquet", "parquet")
    texts = [line.decode() for line in lines_of(4, 3000)]
    table = pa.table({"text": texts})
    pq.write_table(table, folder.root / "a.parquet", row_group_size=50, compression="none")
    parts = folder.plan(source, 60_000)
    groups = [(part.files[0].start, part.files[0].length) for part in parts]
    assert groups[0][0] == 0
    assert sum(length for _, length in groups) == 60
    assert len(parts) > 3
    more = pa.concat_tables([table.slice(0, 50), table])
    pq.write_table(more, folder.root / "a.parquet", row_group_size=50, compression="none")
    after = {part.content for part in folder.plan(source, 60_000)}
    assert len({part.content for part in parts} - after) <= 1


def test_two_columns_that_change_names_are_another_content(folder: Any) -> None:
    source = folder.source("a.parquet", "parquet")
    both = pa.table({"text": ["a"], "note": ["b"]})
    pq.write_table(both, folder.root / "a.parquet")
    before = contents(folder, source, 1 << 20)
    pq.write_table(both.rename_columns(["note", "text"]), folder.root / "a.parquet")
    assert contents(folder, source, 1 << 20) != before


def test_the_same_bytes_packed_or_plain_are_another_content(folder: Any) -> None:
    folder.write("a.jsonl", b"\x1f\x8b")
    folder.write("a.jsonl.gz", b"\x1f\x8b")
    found = {contents(folder, folder.source(name), 9)[0] for name in ("a.jsonl", "a.jsonl.gz")}
    assert len(found) == 2


def test_an_empty_file_is_one_partition(folder: Any) -> None:
    folder.write("a.jsonl", b"")
    (part,) = folder.plan(folder.source("a.jsonl"))
    assert part.content == Digest(hashlib.sha256(b"").digest())
    assert (part.num_bytes, part.files[0].length) == (0, 0)


@pytest.mark.parametrize("kind", ["arrow", "parquet"])
def test_a_packed_file_of_another_format_is_refused(folder: Any, kind: str) -> None:
    folder.write("a.gz", b"")
    with pytest.raises(ConfigError, match="unpack it first"):
        folder.plan(folder.source("a.gz", kind))


def test_a_file_that_shrinks_while_it_is_planned_is_a_conflict(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"short\n")
    with LocalFile(tmp_path / "a") as file, pytest.raises(Conflict, match="shorter"):
        next_cut(file, 0, 100, 1000)
