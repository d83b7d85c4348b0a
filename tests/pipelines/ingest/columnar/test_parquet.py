from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lineage.errors import Conflict
from pipelines.ingest.chunk import ChunkBuilder
from pipelines.ingest.columnar.grouped import read_open_groups
from pipelines.ingest.columnar.rowgroups import RowGroups
from tests.pipelines.ingest.conftest import HASHER


def write(folder: Any, table: pa.Table, rows: int = 10, **options: Any) -> None:
    pq.write_table(table, folder.root / "a.parquet", row_group_size=rows, **options)


def read(folder: Any, target: int = 1 << 20, **fields: str) -> Any:
    return folder.read(folder.source("a.parquet", "parquet", **fields), target)


def test_rows_are_records_with_their_row_as_place(folder: Any) -> None:
    texts = [f"text {i} äж" for i in range(95)]
    write(folder, pa.table({"n": range(95), "text": texts}))
    found = read(folder)
    assert found.texts == texts
    assert found.records.column("offset").to_pylist() == list(range(95))
    assert found.num_bytes == sum(len(text.encode()) for text in texts)


def test_the_same_texts_as_lines_have_the_same_ids(folder: Any) -> None:
    write(folder, pa.table({"text": ["one", "two"]}))
    folder.write("b.jsonl", b'{"text": "one"}\n{"text": "two"}\n')
    assert read(folder).identities == folder.read(folder.source("b.jsonl")).identities


def test_records_do_not_depend_on_row_group_ranges(folder: Any) -> None:
    write(folder, pa.table({"text": [f"{i}" * 50 for i in range(300)]}))
    source = folder.source("a.parquet", "parquet")
    assert len(folder.plan(source, 1000)) > 3
    assert read(folder, 1000).identities == read(folder).identities


@pytest.mark.parametrize(
    "kind",
    [pa.large_string(), pa.string_view(), pa.binary(), pa.dictionary(pa.int32(), pa.string())],
)
def test_every_kind_of_text_column_is_read(folder: Any, kind: pa.DataType) -> None:
    write(folder, pa.table({"text": pa.array(["one", None, "zwölf"]).cast(kind)}))
    found = read(folder)
    assert found.texts == ["one", "zwölf"]
    assert found.reasons == ["text_null"]


def test_own_ids_may_be_text_or_integers(folder: Any) -> None:
    write(folder, pa.table({"text": ["a", "b"], "id": [7, 8]}))
    numbers = read(folder, id="id")
    write(folder, pa.table({"text": ["a", "b"], "id": ["7", "8"]}))
    assert numbers.identities == read(folder, id="id").identities
    write(folder, pa.table({"text": ["a", "b", "c"], "id": [1.5, None, 2.5]}))
    reasons = ["id_not_a_string", "id_missing", "id_not_a_string"]
    assert read(folder, id="id").reasons == reasons


def test_bad_rows_are_quarantined_one_by_one(folder: Any) -> None:
    values = [b"good", b"\xff bad", b"nul\0", None, b"good"]
    write(folder, pa.table({"text": pa.array(values, pa.binary())}))
    found = read(folder)
    assert found.texts == ["good", "good"]
    assert found.reasons == ["invalid_utf8", "nul_character", "text_null"]
    assert found.quarantine.column("record").to_pylist() == [b"\xff bad", b"nul\0", b""]
    assert found.quarantine.column("offset").to_pylist() == [1, 2, 3]


def test_bytes_that_claim_to_be_utf8_are_not_believed(folder: Any) -> None:
    liar = pa.StringArray.from_buffers(
        2, pa.py_buffer(b"\0\0\0\0\2\0\0\0\4\0\0\0"), pa.py_buffer(b"ok\xffx")
    )
    write(folder, pa.table({"text": liar}))
    found = read(folder)
    assert (found.texts, found.reasons) == (["ok"], ["invalid_utf8"])


def test_a_column_that_is_missing_or_no_text_quarantines_its_rows(folder: Any) -> None:
    write(folder, pa.table({"body": ["a", "b"]}))
    assert read(folder).reasons == ["text_missing"] * 2
    write(folder, pa.table({"text": [1, 2]}))
    assert read(folder).reasons == ["text_not_a_string"] * 2
    write(folder, pa.table({"text": [["a"], ["b"]]}))
    assert read(folder).reasons == ["text_not_a_string"] * 2
    write(folder, pa.table({"text": pa.nulls(2)}))
    assert read(folder).reasons == ["text_null"] * 2
    write(folder, pa.table({"text": ["a"]}))
    assert read(folder, id="id").reasons == ["id_missing"]


def test_a_file_without_rows_is_an_empty_file(folder: Any) -> None:
    write(folder, pa.table({"text": pa.array([], pa.string())}))
    assert read(folder).reasons == ["empty_file"]
    folder.write("a.parquet", b"")
    assert read(folder).reasons == ["empty_file"]


def test_a_broken_file_is_one_quarantine_row(folder: Any) -> None:
    write(folder, pa.table({"text": ["a"] * 50}))
    data = (folder.root / "a.parquet").read_bytes()
    for broken in (b"no parquet at all", data[:-9], data[: len(data) // 2], data[:-4] + b"PAR2"):
        folder.write("a.parquet", broken)
        found = read(folder)
        assert (found.texts, found.reasons) == ([], ["corrupt_file"])
        assert found.num_bytes == len(broken)


def test_a_damaged_row_group_costs_only_its_own_rows(folder: Any) -> None:
    texts = [f"{i} {'x' * 400}" for i in range(30)]
    write(folder, pa.table({"text": texts}), use_dictionary=False, compression="zstd")
    path = folder.root / "a.parquet"
    column = pq.read_metadata(path).row_group(1).column(0)
    data = bytearray(path.read_bytes())
    start = column.data_page_offset
    data[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    path.write_bytes(data)
    found = read(folder)
    assert found.texts == texts[:10] + texts[20:]
    (row,) = found.quarantine.to_pylist()
    assert (row["reason"], row["offset"]) == ("corrupt_file", 10)
    assert "row group 1: 10 of 10 rows unread" in row["detail"]
    assert found.records.column("offset").to_pylist() == [*range(10), *range(20, 30)]


def test_a_file_that_changed_since_it_was_planned_is_a_conflict(folder: Any) -> None:
    source = folder.source("a.parquet", "parquet")
    write(folder, pa.table({"text": ["a"] * 50}))
    parts = folder.plan(source)
    for other in (pa.table({"text": ["b"] * 50}), pa.table({"text": ["a"] * 5})):
        write(folder, other)
        with pytest.raises(Conflict, match="changed since it was planned"):
            folder.read_planned(source, parts)
    folder.write("a.parquet", b"no parquet")
    with pytest.raises(Conflict, match="changed since it was planned"):
        folder.read_planned(source, parts)


def test_of_a_struct_only_the_children_that_are_named_are_read(folder: Any) -> None:
    rows = [{"m": {"t": f"t{i}", "u": f"https://a.example/{i}", "big": "x" * 99}} for i in range(9)]
    write(folder, pa.Table.from_pylist(rows))
    with pa.OSFile(str(folder.root / "a.parquet")) as file:
        (batch,) = RowGroups(file).batches(0, ["m.t", "m.u", "m.nowhere", "nowhere"])
    assert batch.schema.field("m").type.names == ["t", "u"]
    found = read(folder, text="m.t", url="m.u", id="m.t")
    assert found.texts == [f"t{i}" for i in range(9)]
    assert found.records["url"].to_pylist()[8] == "https://a.example/8"


def test_templates_paths_and_what_is_told_are_read_from_columns(folder: Any) -> None:
    table = pa.Table.from_pylist(
        [
            {"a": "A", "m": {"b": "B"}, "u": "https://a.example/", "l": "MIT", "a.b": "flat"},
            {"a": None, "m": None, "u": None, "l": None, "a.b": None},
            {"a": None, "m": {"b": "B"}, "u": None, "l": None, "a.b": "flat"},
        ]
    )
    write(folder, table)
    found = read(folder, text="<{a}|{m.b}|{nowhere}>", url="u", record_licence="l")
    assert found.texts == ["<A|B|>", "<|B|>"]
    assert found.records["licence"].to_pylist() == ["MIT", None]
    assert (found.reasons, found.quarantine["record"].to_pylist()) == (["text_missing"], [b"<||>"])
    assert read(folder, text="a.b").texts == ["flat", "flat"]
    assert read(folder, text="m.b").reasons == ["text_null"]
    assert read(folder, text="m.c").reasons == ["text_missing"] * 3
    wrong = read(folder, text="{a}{m}").reasons
    assert wrong == ["text_not_a_string", "text_missing", "text_not_a_string"]


def test_ids_and_addresses_that_are_no_utf8(folder: Any) -> None:
    bad = pa.array([b"\xff", b"ok", None], pa.binary())
    write(folder, pa.table({"text": ["a", "b", "c"], "x": bad, "y": [[1], [2], [3]]}))
    found = read(folder, url="x", record_licence="y")
    assert found.records["url"].to_pylist() == [None, "ok", None]
    assert found.records["licence"].to_pylist() == [None] * 3
    assert read(folder, id="x").reasons == ["invalid_utf8", "id_missing"]
    assert read(folder, id="y").reasons == ["id_not_a_string"] * 3


def test_an_open_file_is_read_and_stays_open(folder: Any) -> None:
    write(folder, pa.table({"text": [f"{i}" for i in range(30)]}))
    source = folder.source("a.parquet", "parquet")
    (part,) = folder.plan(source)
    path = folder.root / "a.parquet"
    for file in (pa.OSFile(str(path)), pa.PythonFile(path.open("rb")), pa.memory_map(str(path))):
        builder = ChunkBuilder("wiki", 7, HASHER, 100)
        reading = read_open_groups(file, part, source, builder)
        chunks = []
        with pytest.raises(StopIteration) as stopped:
            while True:
                chunks.append(next(reading))
        assert stopped.value.value == part.content
        assert sum(chunk.records.num_rows for chunk in [*chunks, builder.take()]) == 30
        assert not file.closed
        file.close()
