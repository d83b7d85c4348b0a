"""Every format: each readable record is read, each other one is a row, and the bytes add up."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.errors import ConfigError
from lineage.ids import RecordKey
from pipelines.ingest.chunk import REASONS, ChunkBuilder
from pipelines.ingest.pages.extract import MAX_DEPTH
from pipelines.ingest.records.delimited import read_delimited
from pipelines.ingest.records.json_array import read_json
from pipelines.ingest.web.warc import read_warc
from tests.pipelines.ingest.conftest import HASHER, Folder, Reading

PAGE = (
    b"<html><head><title>T</title></head><body><nav><a href='/'>menu</a></nav><main><h1>Head</h1>"
    b"<p>A paragraph that is long enough to be the content.</p></main><footer>foot</footer></body>"
)


def read(folder: Folder, name: str, data: bytes, format_: str, **fields: str) -> Reading:
    folder.write(name, data)
    found: Reading = folder.read(folder.source(name, format_, **fields))
    assert set(found.reasons) <= REASONS
    return found


class TestFields:
    def test_a_path_goes_through_nested_objects(self, folder: Any) -> None:
        line = (
            b'{"meta": {"body": "deep", "id": 7, "at": "https://a.example/"}, "licence": "MIT"}\n'
        )
        found = read(
            folder, "a.jsonl", line, "jsonl",
            text="meta.body", id="meta.id", url="meta.at", record_licence="licence",
        )  # fmt: skip
        (row,) = found.records.to_pylist()
        assert (row["text"], row["url"], row["licence"]) == ("deep", "https://a.example/", "MIT")
        assert row["document_id"] == HASHER.document_id("wiki", RecordKey.own("7"))

    def test_a_key_that_holds_the_dots_goes_before_the_path(self, folder: Any) -> None:
        line = b'{"a.b": "flat", "a": {"b": "deep"}}\n'
        assert read(folder, "a.jsonl", line, "jsonl", text="a.b").texts == ["flat"]

    def test_a_template_joins_fields_and_leaves_missing_ones_empty(self, folder: Any) -> None:
        lines = (
            b'{"t": "Title", "b": "Body"}\n{"t": null, "b": "Body"}\n{"x": 1}\n{"t": 3, "b": ""}\n'
        )
        found = read(folder, "a.jsonl", lines, "jsonl", text="# {t}\n\n{{{b}}}")
        assert found.texts == ["# Title\n\n{Body}", "# \n\n{Body}"]
        assert found.reasons == ["text_missing", "text_not_a_string"]

    def test_a_template_that_cannot_be_read_is_an_error(self, folder: Any) -> None:
        with pytest.raises(ConfigError, match="template.*character 6"):
            read(folder, "a.jsonl", b"{}\n", "jsonl", text="{a} b {c")

    def test_an_address_that_is_no_text_loses_no_document(self, folder: Any) -> None:
        found = read(folder, "a.jsonl", b'{"text": "a", "url": [1]}\n', "jsonl", url="url")
        assert found.records.to_pylist()[0]["url"] is None

    def test_parquet_reads_structs_templates_and_addresses(
        self, folder: Any, tmp_path: Path
    ) -> None:
        import pyarrow.parquet as pq

        rows = [{"m": {"t": "T", "b": "B"}, "u": "https://a.example/"}, {"m": None, "u": None}]
        pq.write_table(pa.Table.from_pylist(rows), folder.root / "a.parquet")
        source = folder.source("a.parquet", "parquet", text="{m.t}: {m.b}", url="u")
        found = folder.read(source)
        assert found.texts == ["T: B"]
        assert found.records["url"].to_pylist() == ["https://a.example/"]
        assert found.reasons == ["text_missing"]


class TestJson:
    def test_an_array_is_read_element_by_element(self, folder: Any) -> None:
        data = b' [ {"text": "a, ]"} ,\n{"text": "b\\"["}, 3, {"text": [1, {"x": 2}]} ,'
        data += b' {"text": "c"} ] \n'
        found = read(folder, "a.json", data, "json")
        assert found.texts == ["a, ]", 'b"[', "c"]
        assert found.reasons == ["not_an_object", "text_not_a_string"]
        assert found.num_bytes == len(data)

    def test_a_broken_element_loses_itself_alone(self, folder: Any) -> None:
        data = b'[{"text": "a"}, {"text": oops}, {"text": "b"}]'
        found = read(folder, "a.json", data, "json")
        assert (found.texts, found.reasons) == (["a", "b"], ["invalid_json"])
        assert found.num_bytes == len(data)

    @pytest.mark.parametrize("cut", [1, 5, 14, 16, 20, 29])
    def test_an_array_that_ends_early_gives_what_came_before(self, folder: Any, cut: int) -> None:
        data = b'[{"text": "a"}, {"text": "b"}]'[:cut]
        found = read(folder, "a.json", data, "json")
        # A whole object is read, even where its comma or bracket is missing.
        assert found.texts == ["a", "b"][: (cut >= 14) + (cut >= 29)]
        assert found.reasons == ["invalid_json"]
        assert found.num_bytes == len(data)

    def test_lines_and_one_object_are_json_too(self, folder: Any) -> None:
        assert read(folder, "a.json", b'{"text": "a"}\n{"text": "b"}\n', "json").texts == ["a", "b"]
        pretty = json.dumps({"text": "c", "n": [1, 2]}, indent=2).encode()
        assert read(folder, "b.json", pretty, "json").texts == ["c"]
        assert read(folder, "c.json", b'\xef\xbb\xbf[{"text": "d"}]', "json").texts == ["d"]
        assert read(folder, "d.json", b"[]", "json").reasons == ["empty_file"]
        assert read(folder, "e.json", b"", "json").reasons == ["empty_file"]

    @given(st.lists(st.text(max_size=30), max_size=8), st.integers(1, 9))
    @settings(deadline=None, max_examples=60)
    def test_blocks_make_no_difference(self, texts: list[str], size: int) -> None:
        data = json.dumps([{"text": text} for text in texts], ensure_ascii=False).encode()
        blocks = [data[i : i + size] for i in range(0, len(data), size)]
        builder = ChunkBuilder("wiki", 7, HASHER, 1 << 20)
        source = Folder(Path()).source("a.json", "json")
        list(read_json(blocks, source, builder, 0))
        found = builder.take().records["text"].to_pylist()
        assert found == [text for text in texts if "\0" not in text]


class TestDelimited:
    DATA = b'id,text\r\n1,"a, ""b""\nc"\r\n\r\n2,plain\r\n3,one,too many\r\n4,"open\r\n5,x\r\n'

    def test_quoted_fields_hold_commas_quotes_and_line_ends(self, folder: Any) -> None:
        found = read(folder, "a.csv", self.DATA, "csv", id="id")
        assert found.texts == ['a, "b"\nc', "plain"]
        assert found.reasons == ["wrong_number_of_fields", "unclosed_quote"]
        assert found.num_bytes == len(self.DATA)

    def test_other_delimiters_and_tabs(self, folder: Any) -> None:
        data = b"text;n\na;1\n"
        assert read(folder, "a.csv", data, "csv", delimiter=";").texts == ["a"]
        assert read(folder, "a.tsv", b"n\ttext\n1\tb", "tsv", delimiter="\t").texts == ["b"]

    def test_an_encoding_is_detected_or_named_else_the_row_is_refused(self, folder: Any) -> None:
        data = "text\ncafé\n".encode("latin-1")
        assert read(folder, "a.csv", data, "csv", encoding="latin-1").texts == ["café"]
        assert read(folder, "a.csv", data, "csv").reasons == ["invalid_utf8"]

    def test_a_file_of_a_header_alone_has_no_records(self, folder: Any) -> None:
        found = read(folder, "a.csv", b"id,text\n", "csv")
        assert (found.texts, found.reasons, found.num_bytes) == ([], ["empty_file"], 8)
        assert read(folder, "b.csv", b"", "csv").reasons == ["empty_file"]

    @given(
        st.lists(
            st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1), max_size=6
        )
    )
    @settings(deadline=None, max_examples=60)
    def test_what_pythons_writer_writes_is_read_back(self, texts: list[str]) -> None:
        import csv
        import io

        written = io.StringIO()
        writer = csv.writer(written)
        writer.writerows([["text", "n"], *([text, "1"] for text in texts)])
        data = written.getvalue().encode()
        builder = ChunkBuilder("wiki", 7, HASHER, 1 << 20)
        source = Folder(Path()).source("a.csv", "csv")
        list(read_delimited([data[i : i + 7] for i in range(0, len(data), 7)], source, builder, 0))
        assert builder.take().records["text"].to_pylist() == texts


class TestEncodings:
    @pytest.mark.parametrize(
        ("text", "encoding"),
        [
            ("Съешь же ещё этих мягких французских булок, да выпей чаю. " * 5, "cp1251"),
            ("\ufeffcafé", "utf-16"),
            ("日本語のテキストは文字コードの判定がむずかしいことで知られている。" * 5, "shift_jis"),
        ],
    )
    def test_an_encoding_is_detected_and_told(self, folder: Any, text: str, encoding: str) -> None:
        found = read(folder, "a.txt", text.encode(encoding), "text", encoding="detect")
        (row,) = found.records.to_pylist()
        assert row["text"].lstrip("\ufeff") == text.lstrip("\ufeff")
        assert row["encoding"]
        raw = text.encode(encoding)
        assert row["raw_content_id"] == HASHER.content_id(raw)
        assert row["content_id"] == HASHER.content_id(row["text"].encode())

    def test_utf8_is_told_as_none_and_nothing_else_is_taken_without_leave(
        self, folder: Any
    ) -> None:
        found = read(folder, "a.txt", "café".encode(), "text", encoding="detect")
        assert found.records["encoding"].to_pylist() == [None]
        assert read(folder, "b.txt", b"caf\xe9", "text").reasons == ["invalid_utf8"]
        assert read(folder, "c.txt", b"a\0b", "text", encoding="detect").reasons == [
            "nul_character"
        ]


class TestPages:
    def test_the_main_content_is_the_document_and_its_bytes_the_ids(self, folder: Any) -> None:
        found = read(folder, "a.html", PAGE, "html")
        (row,) = found.records.to_pylist()
        assert row["text"] == "Head\n\nA paragraph that is long enough to be the content."
        assert row["document_id"] == HASHER.document_id("wiki", RecordKey.content(PAGE))
        assert row["num_bytes"] == len(PAGE)

    def test_all_visible_text_where_it_is_wanted(self, folder: Any) -> None:
        (text,) = read(folder, "a.html", PAGE, "html", extract="all").texts
        assert "menu" in text
        assert "foot" in text

    def test_an_encoding_that_the_page_names(self, folder: Any) -> None:
        page = b"<html><meta charset=windows-1251><body><p>" + "привет мир".encode("cp1251")
        found = read(folder, "a.html", page, "html", encoding="detect", extract="all")
        assert found.texts == ["привет мир"]
        assert found.records["encoding"].to_pylist() == ["cp1251"]

    def test_the_licence_of_a_page_is_told(self, folder: Any) -> None:
        address = "https://creativecommons.org/licenses/by/4.0/"
        page = PAGE + b'<a rel="license" href="' + address.encode() + b'">CC</a>'
        assert read(folder, "a.html", page, "html").records["licence"].to_pylist() == [address]

    def test_elements_nested_too_deep_are_a_row_and_no_crash(self, folder: Any) -> None:
        deep = b"<div>" * (MAX_DEPTH + 1) + b"x"
        assert read(folder, "a.html", deep, "html").reasons == ["nested_too_deep"]
        fine = b"<p>x<br>" * (MAX_DEPTH + 1)
        assert len(read(folder, "b.html", fine, "html", extract="all").texts) == 1

    def test_markdown_goes_without_its_front_matter(self, folder: Any) -> None:
        data = b"---\ntitle: T\n---\n# Head\n\n---\ntext\n"
        found = read(folder, "a.md", data, "markdown")
        assert found.texts == ["# Head\n\n---\ntext\n"]
        key = RecordKey.content(data)
        assert found.records["document_id"].to_pylist() == [HASHER.document_id("wiki", key)]
        assert read(folder, "b.md", b"--- not\ntext", "markdown").texts == ["--- not\ntext"]


def response(body: bytes, headers: bytes = b"", status: bytes = b"200 OK") -> bytes:
    return b"HTTP/1.1 " + status + b"\r\nContent-Type: text/html\r\n" + headers + b"\r\n" + body


def warc(block: bytes, kind: str = "response", more: str = "") -> bytes:
    head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: https://a.example/\r\n{more}"
    return f"{head}Content-Length: {len(block)}\r\n\r\n".encode() + block + b"\r\n\r\n"


class TestWebArchives:
    def test_a_response_is_a_page_with_its_address(self, folder: Any) -> None:
        data = warc(b"software: x", "warcinfo") + warc(response(PAGE)) + warc(b"GET /", "request")
        found = read(folder, "a.warc", data, "warc")
        assert found.texts == ["Head\n\nA paragraph that is long enough to be the content."]
        assert found.records["url"].to_pylist() == ["https://a.example/"]
        key = RecordKey.content(PAGE)
        assert found.records["document_id"].to_pylist() == [HASHER.document_id("wiki", key)]
        assert found.reasons == ["no_page", "no_page"]
        assert found.num_bytes == len(data)

    @pytest.mark.parametrize("name", ["gzip", "deflate", "br"])
    def test_packed_bodies_are_unpacked(self, folder: Any, name: str) -> None:
        import brotli

        packed = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress}[name](
            PAGE
        )
        block = response(packed, b"Content-Encoding: " + name.encode() + b"\r\n")
        assert len(read(folder, "a.warc", warc(block), "warc").texts) == 1
        assert len(read(folder, "b.warc", warc(block[:-9]), "warc").records) <= 1

    def test_chunks_are_put_together(self, folder: Any) -> None:
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(PAGE), PAGE)
        block = response(body, b"Transfer-Encoding: chunked\r\n")
        assert len(read(folder, "a.warc", warc(block), "warc").texts) == 1

    def test_what_is_no_page_is_a_row_that_says_why(self, folder: Any) -> None:
        image = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\nPNG"
        data = warc(response(PAGE, status=b"404 Not Found")) + warc(image) + warc(b"oops")
        found = read(folder, "a.warc", data, "warc")
        assert found.reasons == ["no_page", "no_page", "malformed_record"]
        assert found.quarantine["detail"].to_pylist()[:2] == ["status 404", "type image/png"]
        assert found.num_bytes == len(data)

    def test_a_missing_reason_and_bare_line_feeds_are_no_fault(self, folder: Any) -> None:
        block = response(PAGE, status=b"200").replace(b"\r\n", b"\n")
        assert len(read(folder, "a.warc", warc(block).replace(b"\r\n", b"\n"), "warc").texts) == 1

    def test_damage_between_records_loses_nothing_behind_it(self, folder: Any) -> None:
        good = warc(response(PAGE))
        data = good + b"garbage\nmore\n" + good.replace(b"Length: ", b"Length: x") + good
        found = read(folder, "a.warc", data, "warc")
        assert len(found.texts) == 2
        assert found.reasons == ["malformed_record", "malformed_record"]
        assert found.num_bytes == len(data)

    def test_a_file_that_ends_inside_a_record_gives_what_came_before(self, folder: Any) -> None:
        data = warc(response(PAGE)) * 2
        found = read(folder, "a.warc", data[:-50], "warc")
        assert (len(found.texts), found.reasons) == (1, ["malformed_record"])
        assert found.num_bytes == len(data) - 50

    def test_a_wet_file_gives_its_texts(self, folder: Any) -> None:
        data = warc("plain text, été".encode(), "conversion", "Content-Type: text/plain\r\n")
        assert read(folder, "a.wet.gz", gzip.compress(data), "warc").texts == ["plain text, été"]

    def test_an_arc_file_gives_its_pages(self, folder: Any) -> None:
        def arc(url: str, block: bytes) -> bytes:
            return f"{url} 1.2.3.4 20260101000000 text/html {len(block)}\n".encode() + block + b"\n"

        data = arc("filedesc://a.arc", b"1 0 x\n") + arc("https://a.example/", response(PAGE))
        found = read(folder, "a.arc", data, "warc")
        assert len(found.texts) == 1
        assert found.records["url"].to_pylist() == ["https://a.example/"]
        assert found.reasons == ["no_page"]
        assert found.num_bytes == len(data)

    @given(st.binary(max_size=300), st.integers(1, 50))
    @settings(deadline=None, max_examples=80)
    def test_no_bytes_break_the_reader_and_all_are_counted(self, noise: bytes, size: int) -> None:
        data = noise + b"\n" + warc(response(PAGE)) + noise
        builder = ChunkBuilder("wiki", 7, HASHER, 1 << 20)
        blocks = [data[i : i + size] for i in range(0, len(data), size)]
        list(read_warc(blocks, Folder(Path()).source("a.warc", "warc"), builder, 0))
        chunk = builder.take()
        tables = (chunk.records, chunk.quarantine)
        assert sum(sum(table["num_bytes"].to_pylist()) for table in tables) <= len(data)


def pdf(text: str) -> bytes:
    """The smallest PDF of one page, written by hand."""
    stream = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET".encode()
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        (
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R"
            b"/Resources<</Font<</F1 5 0 R>>>>>>"
        ),
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    data, places = b"%PDF-1.4\n", []
    for number, item in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj" % number + item + b"endobj\n"
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(data)
    data += b"xref\n0 6\n0000000000 65535 f \n" + table
    return data + b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % start


class TestPdf:
    def test_the_text_layer_is_the_document(self, folder: Any) -> None:
        pytest.importorskip("pypdfium2")
        found = read(folder, "a.pdf", pdf("Hello from a page"), "pdf")
        assert found.texts == ["Hello from a page"]

    def test_what_is_no_pdf_is_a_row(self, folder: Any) -> None:
        pytest.importorskip("pypdfium2")
        assert read(folder, "a.pdf", b"not a pdf", "pdf").reasons == ["corrupt_file"]


class TestArrow:
    @pytest.mark.parametrize("kind", ["file", "stream"])
    def test_both_kinds_are_read_row_by_row(self, folder: Any, kind: str) -> None:
        table = pa.table({"text": ["a", None, "c"], "id": [1, 2, 3]})
        new = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
        with new(str(folder.root / "data-0.arrow"), table.schema) as writer:
            writer.write_table(table, max_chunksize=2)
        found = folder.read(folder.source("data-0.arrow", "arrow", id="id"))
        assert (found.texts, found.reasons) == (["a", "c"], ["text_null"])
        assert found.records["offset"].to_pylist() == [0, 2]

    def test_a_damaged_file_gives_what_came_before(self, folder: Any) -> None:
        table = pa.table({"text": ["a" * 100] * 50})
        path = folder.root / "data-0.arrow"
        with pa.ipc.new_stream(str(path), table.schema) as writer:
            for _ in range(4):
                writer.write_table(table)
        path.write_bytes(path.read_bytes()[:-3000])
        found = folder.read(folder.source("data-0.arrow", "arrow"))
        assert len(found.texts) % 50 == 0
        assert len(found.texts) >= 100
        assert found.reasons == ["corrupt_file"]


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor().compress,
}


class TestCompressed:
    @pytest.mark.parametrize("name", COMPRESS)
    def test_every_format_is_read_out_of_every_compression(self, folder: Any, name: str) -> None:
        pack = COMPRESS[name]
        lines = b'{"text": "a"}\n{"text": "b"}\n'
        assert read(folder, f"a.jsonl.{name}", pack(lines), "jsonl").texts == ["a", "b"]
        assert read(folder, f"a.txt.{name}", pack(b"text"), "text").texts == ["text"]
        assert read(folder, f"a.csv.{name}", pack(b"text\nc\n"), "csv").texts == ["c"]
        assert len(read(folder, f"a.warc.{name}", pack(warc(response(PAGE))), "warc").texts) == 1
        two = pack(lines) + pack(lines)
        assert read(folder, f"b.jsonl.{name}", two, "jsonl").texts == ["a", "b", "a", "b"]

    @pytest.mark.parametrize("name", COMPRESS)
    def test_a_stream_that_ends_early_gives_what_came_before(self, folder: Any, name: str) -> None:
        lines = b"".join(b'{"text": "%06d"}\n' % i for i in range(40_000))
        whole = COMPRESS[name](lines)
        found = read(folder, f"a.jsonl.{name}", whole[: len(whole) * 9 // 10], "jsonl")
        assert found.texts == [f"{i:06d}" for i in range(len(found.texts))]
        assert found.reasons == ["truncated_stream"]

    @pytest.mark.parametrize("name", ["bz2", "xz"])
    def test_damaged_bytes_are_a_row_and_no_end_of_the_build(self, folder: Any, name: str) -> None:
        whole = bytearray(COMPRESS[name](b'{"text": "a"}\n' * 5000))
        whole[len(whole) // 2] ^= 0xFF
        found = read(folder, f"a.jsonl.{name}", bytes(whole), "jsonl")
        assert found.reasons in (["corrupt_stream"], ["truncated_stream"])
        assert read(folder, f"b.jsonl.{name}", b"plain", "jsonl").reasons == ["corrupt_stream"]
        assert read(folder, f"c.jsonl.{name}", b"", "jsonl").reasons == ["empty_file"]

    def test_a_bomb_is_a_row_in_bounded_memory(self, folder: Any) -> None:
        found = read(folder, "a.txt.xz", lzma.compress(bytes(100 << 20)), "text")
        assert found.reasons == ["text_too_long"]
        # Of a document that is too long no more is unpacked than it takes to see that.
        assert found.num_bytes == (64 << 20) + 1


def test_many_small_files_of_any_format_are_few_partitions(folder: Any) -> None:
    for number in range(300):
        folder.write(f"d/{number}.html", PAGE + b"<p>%d" % number)
    assert len(folder.plan(folder.source("d", "html"))) <= 8
    found = folder.read(folder.source("d", "html"))
    assert len(found.texts) == 300
