from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lineage.errors import Conflict
from pipelines.ingest.columnar.arrow_batches import ArrowBatches, CorruptArrow

KINDS = ["file", "stream"]
TABLE = pa.table(
    {
        "n": range(95),
        "text": [f"text {i} äж" for i in range(95)],
        "meta": [{"id": f"i{i}", "url": f"https://a.example/{i}"} for i in range(95)],
    }
)


def write(
    path: Path, table: pa.Table, kind: str = "stream", rows: int = 10, **options: Any
) -> Path:
    new = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
    with new(str(path), table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=rows)
    return path


def read(folder: Any, target: int = 1 << 20, **fields: str) -> Any:
    return folder.read(folder.source("data-0.arrow", "arrow", **fields), target)


@pytest.fixture
def path(folder: Any) -> Path:
    found: Path = folder.root / "data-0.arrow"
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_rows_are_records_with_their_row_as_place(
    folder: Any, path: Path, kind: str, compression: str | None
) -> None:
    write(path, TABLE, kind, compression=compression)
    found = read(folder, id="meta.id", url="meta.url")
    assert found.texts == TABLE["text"].to_pylist()
    assert found.records["offset"].to_pylist() == list(range(95))
    assert found.records["url"].to_pylist()[94] == "https://a.example/94"
    assert found.num_bytes == sum(len(text.encode()) for text in found.texts)


def test_the_same_texts_as_lines_have_the_same_ids(folder: Any, path: Path) -> None:
    write(path, pa.table({"text": ["one", "two"]}))
    folder.write("b.jsonl", b'{"text": "one"}\n{"text": "two"}\n')
    assert read(folder).identities == folder.read(folder.source("b.jsonl")).identities


def test_a_folder_of_hugging_face_is_read_without_what_lies_beside_its_data(folder: Any) -> None:
    for name in ("data-00000-of-00002.arrow", "data-00001-of-00002.arrow", "cache-12ab.arrow"):
        (folder.root / "train").mkdir(exist_ok=True)
        write(folder.root / "train" / name, pa.table({"text": [name]}))
    folder.write("train/state.json", b"{}")
    folder.write("train/dataset_info.json", b"{}")
    found = folder.read(folder.source("train", "arrow"))
    assert sorted(found.texts) == ["data-00000-of-00002.arrow", "data-00001-of-00002.arrow"]


@pytest.mark.parametrize("kind", KINDS)
def test_batches_are_seen_without_reading_them(path: Path, kind: str) -> None:
    write(path, TABLE, kind)
    with pa.OSFile(str(path)) as file:
        batches = ArrowBatches(file)
        assert (batches.count, batches.total_rows, batches.damage) == (10, 95, "")
        assert [batches.num_rows(i) for i in range(10)] == [10] * 9 + [5]
        assert sum(batches.size_bytes(i) for i in range(10)) < path.stat().st_size
        assert len({batches.digest(i) for i in range(10)}) == 10
        (batch,) = batches.batches(3, ["meta.id", "nowhere", "text"])
        assert batch.schema.names == ["text", "meta"]
        assert batch["text"].to_pylist() == TABLE["text"].to_pylist()[30:40]


def test_a_batch_has_the_same_digest_in_a_file_and_in_a_stream(tmp_path: Path) -> None:
    with (
        pa.OSFile(str(write(tmp_path / "a", TABLE, "file"))) as file,
        pa.OSFile(str(write(tmp_path / "b", TABLE, "stream"))) as stream,
    ):
        one, two = ArrowBatches(file), ArrowBatches(stream)
        assert [one.digest(i) for i in range(10)] == [two.digest(i) for i in range(10)]


def test_a_digest_knows_the_schema_and_the_dictionaries(tmp_path: Path) -> None:
    tables = [
        pa.table({"text": ["a", "b"]}),
        pa.table({"body": ["a", "b"]}),
        pa.table({"text": pa.array(["a", "b"]).dictionary_encode()}),
        pa.table({"text": pa.array(["b", "a"]).dictionary_encode()}),
    ]
    digests = set()
    for table in tables:
        with pa.OSFile(str(write(tmp_path / "a", table))) as file:
            digests.add(ArrowBatches(file).digest(0))
    assert len(digests) == 4


def test_an_open_file_stays_open(path: Path) -> None:
    write(path, TABLE)
    with pa.OSFile(str(path)) as file:
        assert ArrowBatches(file).count == 10
        assert not file.closed


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "values",
    [
        pa.array(["one", None, "zwölf"], pa.large_string()),
        pa.array(["one", None, "zwölf"], pa.string_view()),
        pa.array([b"one", None, "zwölf".encode()], pa.binary()),
        pa.array([b"one", None, "zwölf".encode()], pa.binary_view()),
        pa.array(["one", None, "zwölf"]).dictionary_encode(),
        pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3]), pa.array(["one", None, "zwölf"])),
    ],
    ids=lambda values: str(values.type),
)
def test_every_kind_of_text_column_is_read(
    folder: Any, path: Path, kind: str, values: pa.Array
) -> None:
    write(path, pa.table({"text": values}), kind, rows=2)
    found = read(folder)
    assert (found.texts, found.reasons) == (["one", "zwölf"], ["text_null"])


@pytest.mark.parametrize("kind", KINDS)
def test_dictionaries_may_grow_between_batches(folder: Any, path: Path, kind: str) -> None:
    batches = [
        pa.record_batch({"text": pa.array(words).dictionary_encode()})
        for words in (["a", "b"], ["a", "b", "c"], ["a", "b", "c", "d", "a"])
    ]
    new = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
    with new(str(path), batches[0].schema, options=options) as writer:
        for batch in batches:
            writer.write_batch(batch)
    assert read(folder).texts == ["a", "b", "a", "b", "c", "a", "b", "c", "d", "a"]


def test_dictionaries_may_be_replaced_in_a_stream(folder: Any, path: Path) -> None:
    batches = [
        pa.record_batch({"text": pa.array(words).dictionary_encode()})
        for words in (["a", "b"], ["c"], ["d", "a"])
    ]
    with pa.ipc.new_stream(str(path), batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    assert read(folder).texts == ["a", "b", "c", "d", "a"]


def test_bad_rows_are_refused_one_by_one(folder: Any, path: Path) -> None:
    values = [b"good", b"\xff bad", b"nul\0", None, b"good"]
    write(path, pa.table({"text": pa.array(values, pa.binary())}))
    found = read(folder)
    assert found.texts == ["good", "good"]
    assert found.reasons == ["invalid_utf8", "nul_character", "text_null"]
    assert found.quarantine["record"].to_pylist() == [b"\xff bad", b"nul\0", b""]


def test_a_column_that_is_missing_refuses_every_row(folder: Any, path: Path) -> None:
    write(path, TABLE)
    assert read(folder, text="body").reasons == ["text_missing"] * 95
    assert read(folder, text="meta.body").reasons == ["text_missing"] * 95
    assert read(folder, text="n").reasons == ["text_not_a_string"] * 95


def test_a_file_that_is_none_or_has_no_rows_is_one_row(folder: Any, path: Path) -> None:
    write(path, TABLE.slice(0, 0))
    assert read(folder).reasons == ["empty_file"]
    folder.write("data-0.arrow", b"")
    assert read(folder).reasons == ["empty_file"]
    for broken in (b"no arrow at all", b"ARROW1\0\0", b"\xff" * 100, b"FEA1" + bytes(40)):
        folder.write("data-0.arrow", broken)
        found = read(folder)
        assert (found.texts, found.reasons) == ([], ["corrupt_file"])
        assert found.num_bytes == len(broken)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("num_lost", [1, 9, 300, 1000])
def test_a_file_that_ends_early_gives_the_batches_that_are_whole(
    folder: Any, path: Path, kind: str, num_lost: int
) -> None:
    write(path, TABLE, kind)
    path.write_bytes(path.read_bytes()[:-num_lost])
    found = read(folder)
    assert found.texts == TABLE["text"].to_pylist()[: len(found.texts)]
    assert len(found.texts) in range(50, 96)
    assert found.reasons == ["corrupt_file"]


def test_bytes_behind_the_end_are_told(folder: Any, path: Path) -> None:
    write(path, TABLE)
    path.write_bytes(path.read_bytes() * 2)
    found = read(folder)
    assert (len(found.texts), found.reasons) == (95, ["corrupt_file"])
    assert "bytes behind the end" in found.quarantine["detail"].to_pylist()[0]


def test_a_damaged_batch_costs_only_its_own_rows(folder: Any, path: Path) -> None:
    write(path, TABLE.select(["text"]), compression="zstd")
    with pa.OSFile(str(path)) as file:
        batches = ArrowBatches(file)
        lengths = [batches.size_bytes(i) for i in range(10)]
    data = bytearray(path.read_bytes())
    # The bodies are the ends of messages; bytes of 0xff are no Zstandard.
    end = len(data) - 8 - sum(lengths[4:])
    data[end - 100 : end] = b"\xff" * 100
    path.write_bytes(data)
    found = read(folder)
    assert found.texts == TABLE["text"].to_pylist()[:30] + TABLE["text"].to_pylist()[40:]
    (row,) = found.quarantine.to_pylist()
    assert (row["reason"], row["offset"]) == ("corrupt_file", 30)
    assert "10 of 10 rows unread" in row["detail"]


def test_offsets_and_indices_that_lead_outside_are_not_followed(folder: Any, path: Path) -> None:
    offsets = pa.py_buffer(struct.pack("<4i", 0, 1, 1 << 30, 3))
    wild = pa.StringArray.from_buffers(3, offsets, pa.py_buffer(b"abc"))
    indices = pa.array([0, 1 << 20, 0], pa.int32())
    words = pa.DictionaryArray.from_arrays(indices, pa.array(["a"]), safe=False)
    struct_of = pa.StructArray.from_arrays([wild], ["text"])
    for column, text in ((wild, "text"), (words, "text"), (struct_of, "text.text")):
        write(path, pa.table({"text": column, "n": [1, 2, 3]}))
        found = read(folder, text=text)
        assert (found.texts, found.reasons) == ([], ["corrupt_file"])
    write(path, pa.table({"text": ["a", "b", "c"], "id": wild}))
    assert read(folder).texts == ["a", "b", "c"]
    assert read(folder, id="id").reasons == ["corrupt_file"]


def test_no_bytes_break_the_reader(folder: Any, path: Path) -> None:
    chance = random.Random(7)
    for kind in KINDS:
        whole = write(path, TABLE.slice(0, 20), kind, rows=5).read_bytes()
        for _ in range(150):
            data = bytearray(whole)
            for _ in range(chance.randint(1, 3)):
                data[chance.randrange(len(data))] = chance.randrange(256)
            path.write_bytes(data)
            found = read(folder)
            assert len(found.texts) <= 20 or found.reasons


def test_a_header_that_states_absurd_sizes_is_no_message(path: Path) -> None:
    for size in (1 << 30, -5, (1 << 31) - 1):
        path.write_bytes(b"\xff\xff\xff\xff" + struct.pack("<i", size) + bytes(64))
        with pa.OSFile(str(path)) as file, pytest.raises(CorruptArrow):
            ArrowBatches(file)


def test_a_file_that_changed_since_it_was_planned_is_a_conflict(folder: Any, path: Path) -> None:
    source = folder.source("data-0.arrow", "arrow")
    write(path, TABLE)
    parts = folder.plan(source)
    for other in (TABLE.slice(1), TABLE.slice(0, 90)):
        write(path, other)
        with pytest.raises(Conflict, match="changed since it was planned"):
            folder.read_planned(source, parts)


def test_one_large_batch_is_taken_in_pieces(folder: Any, path: Path) -> None:
    write(path, pa.table({"text": [f"{i}" for i in range(100_000)]}), rows=100_000)
    found = folder.read(folder.source("data-0.arrow", "arrow"), chunk_bytes=1 << 14)
    assert found.texts == [f"{i}" for i in range(100_000)]


@pytest.mark.parametrize("kind", KINDS)
def test_records_do_not_depend_on_runs_of_batches(folder: Any, path: Path, kind: str) -> None:
    texts = [f"{i}" * 50 for i in range(300)]
    table = pa.table({"text": texts, "kind": pa.array(["x", "y"] * 150).dictionary_encode()})
    write(path, table, kind)
    source = folder.source("data-0.arrow", "arrow", text="{kind}{text}")
    parts = folder.plan(source, 2000)
    assert len(parts) > 3
    found = folder.read_planned(source, parts)
    assert found.identities == folder.read(source).identities
    assert len(found.texts) == 300
    # A place counts from the start of its partition's range.
    starts = [part.files[0].offset_base for part in parts]
    assert starts[0] == 0
    assert starts == sorted(starts)


def test_what_is_missing_at_the_end_changes_the_content_of_the_last_part_alone(
    folder: Any, path: Path
) -> None:
    write(path, TABLE)
    source = folder.source("data-0.arrow", "arrow")
    whole = {part.content for part in folder.plan(source, 2000)}
    path.write_bytes(path.read_bytes()[:-3])
    damaged = {part.content for part in folder.plan(source, 2000)}
    assert len(whole - damaged) == 1
