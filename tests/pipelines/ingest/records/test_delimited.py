from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.ids import RecordKey
from pipelines.ingest.chunk import REASONS, ChunkBuilder
from pipelines.ingest.places.streams import StreamFault
from pipelines.ingest.records import delimited
from pipelines.ingest.records.delimited import read_delimited
from tests.pipelines.ingest.conftest import HASHER, Folder


def read(blocks: Iterable[bytes], **fields: str) -> tuple[list[Any], list[Any]]:
    """Rows of records and of refusals; their places follow each other without a gap."""
    builder = ChunkBuilder("wiki", 7, HASHER, 1 << 20)
    source = Folder(Path()).source("a.csv", "csv", **fields)
    chunks = [*read_delimited(blocks, source, builder, 0), builder.take()]
    records = [row for chunk in chunks for row in chunk.records.to_pylist()]
    refused = [row for chunk in chunks for row in chunk.quarantine.to_pylist()]
    assert {row["reason"] for row in refused} <= REASONS
    at = 0
    for row in sorted([*records, *refused], key=lambda row: (row["offset"], row["num_bytes"])):
        assert row["offset"] == at
        at += row["num_bytes"]
    return records, refused


def read_all(data: bytes | str, **fields: str) -> tuple[list[str], list[str]]:
    data = data.encode() if isinstance(data, str) else data
    records, refused = read([data], **fields)
    assert sum(row["num_bytes"] for row in [*records, *refused]) == len(data)
    return [row["text"] for row in records], [row["reason"] for row in refused]


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[i : i + size] for i in range(0, len(data), size)]


def test_quoted_fields_hold_delimiters_quotes_and_line_ends() -> None:
    data = 'id,text\r\n1,"a, ""b""\r\nc"\r\n2,"d\ne"\r\n3,\r\n4,"last"'
    assert read_all(data) == (['a, "b"\r\nc', "d\ne", "", "last"], [])


def test_a_row_lies_where_its_first_byte_does_and_the_header_belongs_to_the_first() -> None:
    records, _ = read([b"id,text\n1,a\n\r\n\n2,b\n"])
    assert [(row["offset"], row["num_bytes"]) for row in records] == [(0, 15), (15, 4)]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_byte_order_marks(end: str, mark: str) -> None:
    data = mark + end.join(['"text",n', '"a', 'b",1', "c,2", ""])
    assert read_all(data) == ([f"a{end}b", "c"], [])


def test_a_ragged_row_is_refused_by_itself() -> None:
    data = "id,text\n1,a\n2\n3,b,c\n,\n4,d\n"
    wrong = ["wrong_number_of_fields"] * 2
    assert read_all(data) == (["a", "", "d"], wrong)


def test_a_quote_inside_a_field_is_a_character() -> None:
    data = 'text,n\n5" pipe,1\na"b"c,2\n "q",3\nlast,4\n'
    assert read_all(data) == (['5" pipe', 'a"b"c', ' "q"', "last"], [])


def test_characters_behind_a_closing_quote_cost_their_row() -> None:
    assert read_all('text,n\n"a"b,1\nc,2\n') == (["c"], ["invalid_row"])


def test_a_quote_that_is_never_closed_takes_the_rest_as_one_row() -> None:
    records, refused = read([b'text,n\na,1\n"open,2\nb,3\n'])
    assert [row["text"] for row in records] == ["a"]
    (row,) = refused
    assert (row["reason"], row["offset"], row["num_bytes"]) == ("unclosed_quote", 11, 12)
    assert row["record"] == b'"open,2\nb,3\n'
    assert read_all('"text\na\n') == ([], ["unclosed_quote"])


def test_a_quote_that_is_closed_too_late_swallows_rows_and_no_more() -> None:
    data = 'text,n\n"open,1\nb,2\n"c",3\nd,4\n'
    assert read_all(data) == (["d"], ["invalid_row"])


def test_a_file_without_rows_is_empty() -> None:
    assert read_all("") == ([], ["empty_file"])
    assert read_all("id,text\r\n") == ([], ["empty_file"])
    assert read_all("\n\r\n") == ([], ["empty_file"])


def test_fields_are_mapped_by_the_header() -> None:
    data = "id,title,body,url,a.b\n7,T,B,https://a.example/,x\n8,,,,\n"
    fields = {"text": "# {title}\n{body}", "id": "id", "url": "url", "record_licence": "a.b"}
    records, refused = read([data.encode()], **fields)
    assert records[0]["text"] == "# T\nB"
    assert (records[0]["url"], records[0]["licence"]) == ("https://a.example/", "x")
    assert records[0]["document_id"] == HASHER.document_id("wiki", RecordKey.own("7"))
    assert [row["reason"] for row in refused] == ["text_missing"]
    assert read_all("a,b\n1,2\n") == ([], ["text_missing"])


def test_of_two_columns_of_one_name_the_first_counts() -> None:
    assert read_all("text,text\na,b\n") == (["a"], [])


def test_names_may_hold_line_ends() -> None:
    assert read_all('"the\ntext",n\na,1\n', text="the\ntext") == (["a"], [])


def test_a_header_that_cannot_be_read_is_the_reason_of_every_row() -> None:
    records, refused = read([b"t\xff,text\na,b\nc,d\n"])
    assert [row["reason"] for row in refused] == ["invalid_utf8"] * 2
    assert all(row["detail"].startswith("the header: ") for row in refused)
    assert (records, read_all(b"t\xff")) == ([], ([], ["invalid_utf8"]))


def test_a_carriage_return_alone_ends_no_row() -> None:
    assert read_all("text,n\na\rb,1\nc,2\n") == (["c"], ["invalid_row"])
    assert read_all('text,n\n"a\rb",1\n') == (["a\rb"], [])


def test_texts_that_no_tokenizer_should_see() -> None:
    assert read_all(b"text\na\x00b\nc\n") == (["c"], ["nul_character"])
    assert read_all(b"text\n\xed\xa0\x80\nc\n") == (["c"], ["invalid_utf8"])


class TestEncodings:
    def test_utf8_is_strict_unless_the_spec_says_otherwise(self) -> None:
        data = b"text\ncaf\xe9\nb\n"
        assert read_all(data) == (["b"], ["invalid_utf8"])

    def test_a_named_encoding_is_read_and_told_and_makes_the_ids(self) -> None:
        data = "text\ncafé\nplain\n".encode("latin-1")
        records, _ = read([data], encoding="iso8859-1")
        assert [row["text"] for row in records] == ["café", "plain"]
        assert [row["encoding"] for row in records] == ["iso8859-1", None]
        assert records[0]["raw_content_id"] == HASHER.content_id(b"caf\xe9")
        assert records[0]["content_id"] == HASHER.content_id("café".encode())
        assert records[1]["raw_content_id"] == records[1]["content_id"]

    def test_bytes_that_the_named_encoding_lacks_cost_their_row(self) -> None:
        assert read_all(b"text\n\x81\nb\n", encoding="cp1252") == (["b"], ["unknown_encoding"])
        assert read_all("\ufefftext\ncafé\n", encoding="cp1252") == (["café"], [])

    @pytest.mark.parametrize(
        ("name", "line"),
        [
            ("cp1251", "Съешь же ещё этих мягких французских булок, да выпей чаю"),
            ("gb18030", "中文的文本需要长一点才能判断编码是什么"),
        ],
    )
    def test_an_encoding_is_detected_from_many_rows_and_not_from_each(
        self, name: str, line: str
    ) -> None:
        # In GB 18030 the first of these is UTF-8 by chance.
        texts = ["小" if name == "gb18030" else "да", *[line] * 30, "plain"]
        data = "\n".join(["text", *(f'"{text}"' for text in texts), ""]).encode(name)
        found = [read(cut(data, size), encoding="detect") for size in (1 << 20, 100, 1)]
        assert [row["text"] for row in found[0][0]] == texts
        assert found[0] == found[1] == found[2]

    def test_few_rows_of_damaged_utf8_are_not_read_as_something_else(self) -> None:
        good = "".join(f"été numéro {i} à côté\n" for i in range(50))
        data = b"text\n" + good.encode() + b"caf\xe9\n" + good.encode()
        texts, reasons = read_all(data, encoding="detect")
        assert (len(texts), reasons) == (100, ["invalid_utf8"])

    @pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
    @pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
    def test_wide_units_are_read_behind_a_mark_or_by_name(self, name: str, size: int) -> None:
        # U+0A0A, U+2222 and U+2C2C hold the bytes of a line end, a quote and a comma.
        text = 'text\tn\r\n"ä\u0a0a\u2222\u2c2c\r\nb"\t1\r\n\r\nc\t2\r\n'
        wanted = ["ä\u0a0a\u2222\u2c2c\r\nb", "c"]
        for mark, encoding in (("\ufeff", "detect"), ("", name)):
            data = (mark + text).encode(name)
            records, refused = read(cut(data, size), delimiter="\t", encoding=encoding)
            assert ([row["text"] for row in records], refused) == (wanted, [])
            assert {row["encoding"] for row in records} == {name}
            assert sum(row["num_bytes"] for row in records) == len(data)

    def test_half_a_unit_at_the_end_costs_the_last_row(self) -> None:
        data = "text\na\nb\n".encode("utf-16-le")[:-1]
        assert read_all(data, encoding="utf-16") == (["a"], ["unknown_encoding"])


def test_a_row_that_is_too_long_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "MAX_LINE_BYTES", 100_000)
    data = b"text\na\n" + b"x" * 300_000 + b"\nb\n" + b"y" * 100_001
    for size in (1 << 20, 50_001):
        records, refused = read(cut(data, size))
        assert [row["text"] for row in records] == ["a", "b"]
        assert [row["reason"] for row in refused] == ["line_too_long"] * 2
        assert [row["record"][:1] for row in refused] == [b"x", b"y"]
        assert sum(row["num_bytes"] for row in [*records, *refused]) == len(data)


def test_a_long_text_is_one_row() -> None:
    data = b'text\n"' + b'a,""\n' * 4_000_000 + b'"\nb\n'
    records, _ = read(cut(data, 1 << 20))
    assert [len(row["text"]) for row in records] == [16_000_000, 1]


def test_a_full_chunk_is_given_out_at_once() -> None:
    builder = ChunkBuilder("wiki", 7, HASHER, 1000)
    source = Folder(Path()).source("a.csv", "csv")
    chunks = list(read_delimited([b"text\n" + b"x" * 99 + b"\n" * 1000], source, builder, 0))
    data = b"text\n" + (b"x" * 99 + b"\n") * 1000
    chunks = list(read_delimited([data], source, builder, 0))
    assert max(chunk.records.num_rows for chunk in chunks) <= 12


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("encoding", ["utf-8", "detect", "utf-16-le"])
def test_a_fault_of_the_stream_gives_what_came_before(clean: bool, encoding: str) -> None:
    name = "utf-8" if encoding == "detect" else encoding
    data = "text,n\né,1\nb,2\nc,3".encode(name) + b"\n" * (name != "utf-8")

    def stream() -> Iterator[bytes]:
        yield from cut(data, 5)
        raise StreamFault("truncated_stream", "here", clean)

    records, refused = read(stream(), encoding=encoding)
    whole = clean and name == "utf-8"
    assert [row["text"] for row in records] == ["é", "b", *["c"] * whole]
    assert refused[-1]["reason"] == "truncated_stream"
    assert sum(row["num_bytes"] for row in [*records, *refused]) == len(data)


@given(
    st.text('",\n\r ab\0é', max_size=60), st.integers(1, 9), st.sampled_from(["utf-8", "detect"])
)
@settings(deadline=None, max_examples=300)
def test_no_bytes_break_the_reader_and_all_are_accounted_for(
    text: str, size: int, encoding: str
) -> None:
    data = text.encode()
    found = read([data], encoding=encoding)
    assert read(cut(data, size), encoding=encoding) == found
    assert sum(row["num_bytes"] for rows in found for row in rows) == len(data)


fields = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12) | st.text(
    '",;\n\r\t a', max_size=8
)


@given(
    st.lists(st.tuples(fields, fields), max_size=8), st.sampled_from(",;\t|"), st.integers(1, 50)
)
@settings(deadline=None, max_examples=200)
def test_what_pythons_writer_writes_is_read_back(
    rows: list[tuple[str, str]], delimiter: str, size: int
) -> None:
    written = io.StringIO()
    csv.writer(written, delimiter=delimiter).writerows([("n", "text"), *rows])
    data = written.getvalue().encode()
    records, refused = read(cut(data, size), delimiter=delimiter)
    assert [row["text"] for row in records] == [text for _, text in rows]
    assert [row["reason"] for row in refused] == ([] if rows else ["empty_file"])
