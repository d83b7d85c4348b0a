"""Web archives: every readable record is read, each other one is a row, and the bytes add up."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator

import brotli
import pyarrow as pa
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.ids import RecordKey
from pipelines.ingest.chunk import REASONS, Chunk, ChunkBuilder
from pipelines.ingest.places.streams import StreamFault, decompressed
from pipelines.ingest.web import captures, http
from pipelines.ingest.web.warc import read_warc
from pipelines.spec.source import SourceSpec
from tests.pipelines.ingest.conftest import HASHER, Reading

SOURCE = SourceSpec("wiki", "a.warc", "warc", "MIT", "crawled", "2026-01", encoding="detect")
PAGE = b"<html><body><main><p>A paragraph, long enough to be content.</p></main></body></html>"
TEXT = "A paragraph, long enough to be content."


def response(body: bytes = PAGE, headers: str = "", kind: str = "text/html") -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{headers}\r\n"
    return head.encode() + body


def warc(block: bytes, kind: str = "response", more: str = "", length: int | None = None) -> bytes:
    length = len(block) if length is None else length
    head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: https://a.example/\r\n{more}"
    return f"{head}Content-Length: {length}\r\n\r\n".encode() + block + b"\r\n\r\n"


def arc(url: str, block: bytes, kind: str = "text/html", length: int | None = None) -> bytes:
    length = len(block) if length is None else length
    return f"{url} 1.2.3.4 20260101000000 {kind} {length}\n".encode() + block + b"\n"


def numbered(number: int) -> bytes:
    return warc(response(PAGE.replace(b"paragraph", b"paragraph %d " % number)))


def read_blocks(blocks: Iterator[bytes] | list[bytes], chunk_bytes: int = 1 << 20) -> Reading:
    builder = ChunkBuilder("wiki", 7, HASHER, chunk_bytes)
    chunks: list[Chunk] = [*read_warc(blocks, SOURCE, builder, 3), builder.take()]
    found = Reading(
        pa.concat_tables([chunk.records for chunk in chunks]),
        pa.concat_tables([chunk.quarantine for chunk in chunks]),
    )
    assert set(found.reasons) <= REASONS
    return found


def read(data: bytes, size: int = 1 << 20) -> Reading:
    """Reads it in blocks of a size; all its bytes are in the books, in order."""
    found = read_blocks([data[i : i + size] for i in range(0, len(data), size)])
    assert found.num_bytes == len(data)
    tables = (found.records, found.quarantine)
    places = sorted(
        (row["offset"], row["num_bytes"], row["file"]) for t in tables for row in t.to_pylist()
    )
    end = 0
    for offset, num_bytes, file in places:
        assert (offset, file) == (end, 3)
        end += num_bytes
    return found


def numbers(found: Reading) -> list[str]:
    return [text.split()[2] for text in found.texts]


class TestRecords:
    def test_a_page_has_its_address_and_the_ids_of_its_payload(self) -> None:
        payload = gzip.compress(PAGE, mtime=0)
        block = response(payload, "Content-Encoding: gzip\r\n")
        (row,) = read(warc(b"x: y", "warcinfo") + warc(block)).records.to_pylist()
        assert (row["text"], row["url"]) == (TEXT, "https://a.example/")
        assert row["document_id"] == HASHER.document_id("wiki", RecordKey.content(payload))
        assert row["raw_content_id"] == HASHER.content_id(payload)
        assert row["content_id"] == HASHER.content_id(TEXT.encode())

    @pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1000])
    def test_blocks_make_no_difference(self, size: int) -> None:
        data = numbered(0) + warc(b"GET / HTTP/1.1\r\n\r\n", "request") + numbered(1) + b"junk\n"
        data += warc(response(length_of_ten()), length=10) + numbered(2)
        found = read(data, size)
        assert numbers(found) == ["0", "1", "2"]
        assert found.reasons == ["no_page", "malformed_record", "malformed_record"]

    def test_empty_blocks_end_nothing(self) -> None:
        data = numbered(0) + numbered(1)
        blocks = [piece for i in range(0, len(data), 50) for piece in (b"", data[i : i + 50], b"")]
        assert numbers(read_blocks(blocks)) == ["0", "1"]

    def test_one_gzip_member_a_record_is_one_stream(self) -> None:
        packed = b"".join(gzip.compress(numbered(i), mtime=0) for i in range(40))
        for size in (1, 100, 1 << 20):
            blocks = [packed[i : i + size] for i in range(0, len(packed), size)]
            found = read_blocks(decompressed(blocks, "gz"))
            assert numbers(found) == [str(i) for i in range(40)]

    def test_chunks_are_given_out_as_they_fill(self) -> None:
        builder = ChunkBuilder("wiki", 7, HASHER, 100)
        data = b"".join(map(numbered, range(20)))
        assert sum(1 for _ in read_warc([data], SOURCE, builder, 0)) > 3

    @pytest.mark.parametrize(
        ("record", "detail"),
        [
            (warc(b"x", "metadata"), "a record of type metadata"),
            (warc(b"", "revisit"), "a record of type revisit"),
            (warc(response(), ""), "a record of type unknown"),
            (warc(response().replace(b"200 OK", b"404 Not Found")), "status 404"),
            (warc(response(b"PNG", kind="image/png")), "type image/png"),
            (
                warc(response(b"{}", kind="Application/JSON; charset=utf-8")),
                "type application/json",
            ),
            (warc(response(kind="")), "type unknown"),
            (warc(b"log", "resource", "Content-Type: image/gif\r\n"), "type image/gif"),
            (
                warc(b"1", more="Content-Type: text/dns\r\n").replace(b"https:", b"dns:"),
                "a response of scheme dns",
            ),
            (
                warc(b"log", "resource", "Content-Type: text/plain\r\n").replace(b"https", b"meta"),
                "a resource of scheme meta",
            ),
        ],
    )
    def test_what_carries_no_page_is_passed_over_and_says_why(
        self, record: bytes, detail: str
    ) -> None:
        (row,) = read(record).quarantine.to_pylist()
        assert (row["reason"], row["detail"], row["record"]) == ("no_page", detail, b"")

    def test_texts_are_documents_as_they_are(self) -> None:
        plain = "text/plain; charset=windows-1251"
        russian = "Съешь же ещё этих булок".encode("cp1251")
        found = read(
            warc(response(russian, kind=plain))
            + warc("été <b>".encode(), "conversion", "Content-Type: text/plain\r\n")
            + warc(PAGE, "resource", "Content-Type: application/xhtml+xml\r\n")
        )
        assert found.texts == ["Съешь же ещё этих булок", "été <b>", TEXT]
        assert found.records["encoding"].to_pylist() == ["cp1251", None, None]

    def test_a_header_names_the_encoding_before_the_page_does(self) -> None:
        page = b"<meta charset=koi8-r><main><p>" + ("Съешь же булок. " * 9).encode("cp1251")
        found = read(warc(response(page, kind='text/html; charset="windows-1251"')))
        assert found.texts == [("Съешь же булок. " * 9).strip()]

    def test_a_payload_without_a_type_has_the_one_that_was_identified(self) -> None:
        block = b"HTTP/1.1 200 OK\r\n\r\n" + PAGE
        assert read(warc(block)).reasons == ["no_page"]
        identified = "WARC-Identified-Payload-Type: text/html\r\n"
        assert read(warc(block, more=identified)).texts == [TEXT]

    def test_the_licence_that_a_page_names_is_told(self) -> None:
        page = PAGE + b"<a rel='license' href='https://cc.example/by/4.0/'>CC</a>"
        found = read(warc(response(page)))
        assert found.records["licence"].to_pylist() == ["https://cc.example/by/4.0/"]

    def test_a_file_without_bytes_is_a_row(self) -> None:
        assert read(b"").reasons == ["empty_file"]


def length_of_ten() -> bytes:
    return b"<p>" + b"x" * 200


class TestHttp:
    def test_missing_reasons_bare_line_feeds_and_doubled_returns_are_no_fault(self) -> None:
        for change in ((b" OK\r\n", b"\r\n"), (b"\r\n", b"\n"), (b"HTTP/1.1", b"HTTP/2")):
            assert read(warc(response().replace(*change))).texts == [TEXT]
        whole = warc(response().replace(b"\r\n", b"\n")).replace(b"\r\n", b"\n")
        assert read(whole).texts == [TEXT]

    def test_a_page_without_a_header_of_http_is_malformed(self) -> None:
        assert read(warc(PAGE)).reasons == ["malformed_record"]

    @pytest.mark.parametrize("coding", ["gzip", "x-gzip", "deflate", "raw", "br", "zstd", "GZip"])
    def test_codings_are_undone_and_damage_is_a_row(self, coding: str) -> None:
        raw = zlib.compressobj(wbits=-15)
        packed = {
            "deflate": zlib.compress(PAGE),
            "raw": raw.compress(PAGE) + raw.flush(),
            "br": brotli.compress(PAGE),
            "zstd": zstandard.compress(PAGE),
        }.get(coding, gzip.compress(PAGE, mtime=0))
        header = f"Content-Encoding: {coding.replace('raw', 'deflate')}\r\n"
        assert read(warc(response(packed, header))).texts == [TEXT]
        assert read(warc(response(packed[:-9], header))).reasons == ["truncated_stream"]
        assert read(warc(response(PAGE, header))).texts == [TEXT]
        twice = f"Content-Encoding: {coding.replace('raw', 'deflate')}, gzip\r\n"
        assert read(warc(response(gzip.compress(packed), twice))).texts == [TEXT]

    def test_chunks_are_put_together_and_must_be_whole(self) -> None:
        header = "Transfer-Encoding: chunked\r\n"
        half = len(PAGE) // 2
        body = b"%x;ext=1\r\n%s\r\n" % (half, PAGE[:half])
        body += b"00%X \r\n%s\r\n0\r\n\r\n" % (len(PAGE) - half, PAGE[half:])
        assert read(warc(response(body, header))).texts == [TEXT]
        assert read(warc(response(body[:-5], header))).reasons == ["truncated_stream"]
        assert read(warc(response(body[:-20], header))).reasons == ["truncated_stream"]
        # Many archives keep the header, and the body without its chunks.
        assert read(warc(response(PAGE, header))).texts == [TEXT]

    def test_a_bomb_is_a_row(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(http, "MAX_FILE_BYTES", 1 << 20)
        packs = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress}
        for name, pack in packs.items():
            block = response(pack(b"x" * (2 << 20)), f"Content-Encoding: {name}\r\n")
            assert read(warc(block)).reasons == ["text_too_long"]

    def test_what_is_passed_over_is_not_unpacked(self) -> None:
        image = response(b"no gzip", "Content-Encoding: gzip\r\n", "image/png")
        assert read(warc(image)).reasons == ["no_page"]


class TestDamage:
    def test_bytes_between_records_lose_nothing_else(self) -> None:
        found = read(b"junk" + numbered(0) + b"junk\r\nmore" * 5 + b"\n" + numbered(1) + b"end")
        assert numbers(found) == ["1"]
        found = read(b"junk\n" + numbered(0) + b"junk\r\nmore" * 5 + b"\n" + numbered(1) + b"end")
        assert numbers(found) == ["0", "1"]
        assert found.reasons == ["malformed_record"] * 3

    @pytest.mark.parametrize("length", [0, 1, 20, 100, 1000, 10**6, 10**9, 10**14])
    def test_a_wrong_length_loses_its_own_record_alone(
        self, length: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(captures, "MAX_FILE_BYTES", 1 << 20)
        bad = warc(response(b"<p>" + b"word " * 60), length=length)
        found = read(numbered(0) + bad + numbered(1) + numbered(2))
        assert numbers(found) == ["0", "1", "2"]
        assert found.reasons == ["malformed_record"]

    def test_many_broken_headers_in_a_row_are_rows(self) -> None:
        bad = b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: x\r\n\r\n"
        found = read(bad * 3000 + numbered(1))
        assert numbers(found) == ["1"]
        assert found.reasons == ["malformed_record"] * 3000

    def test_a_page_that_quotes_a_record_is_one_page(self) -> None:
        quoted = b"<pre>\n" + numbered(9).replace(b"<", b"&lt;") + b"</pre>"
        block = response(PAGE.replace(b"</main>", quoted + b"</main>"))
        found = read(warc(block) + numbered(1))
        assert len(found.texts) == 2
        assert "WARC-Type" in found.texts[0]

    def test_a_header_that_never_ends_is_a_row(self) -> None:
        data = b"WARC/1.0\r\nWARC-Type: response\r\n" + b"x: " + b"y" * (3 << 20)
        assert read(data).reasons == ["malformed_record"]

    @pytest.mark.parametrize("cut", [1, 8, 30, 90, 150, 220])
    def test_a_file_that_ends_early_gives_what_came_before(self, cut: int) -> None:
        found = read(numbered(0) + numbered(1)[:cut])
        assert (numbers(found), found.reasons) == (["0"], ["malformed_record"])

    def test_a_stream_that_breaks_gives_what_came_before_and_one_row(self) -> None:
        def broken(data: bytes) -> Iterator[bytes]:
            yield data
            raise StreamFault("corrupt_stream", "gzip at byte 9: damaged")

        found = read_blocks(broken(numbered(0) + numbered(1)[:100]))
        (row,) = found.quarantine.to_pylist()
        assert numbers(found) == ["0"]
        assert (row["reason"], row["num_bytes"]) == ("corrupt_stream", 100)
        found = read_blocks(broken(numbered(0)))
        (row,) = found.quarantine.to_pylist()
        assert (numbers(found), row["num_bytes"]) == (["0"], 0)

    def test_a_record_over_the_bound_is_passed_in_bounded_memory(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(captures, "MAX_FILE_BYTES", 1 << 16)
        film = response(b"x" * 300_000, kind="video/mp4")
        data = numbered(0) + warc(film) + warc(response(b"<p>" + b"x" * 300_000)) + numbered(1)
        found = read(data, 10_000)
        assert numbers(found) == ["0", "1"]
        assert found.quarantine["detail"].to_pylist()[0] == "type video/mp4"
        assert found.reasons == ["no_page", "text_too_long"]

    @given(st.lists(st.integers(0, 8), max_size=6), st.integers(1, 400), st.randoms())
    @settings(deadline=None, max_examples=80)
    def test_whatever_is_damaged_the_bytes_add_up(
        self, kinds: list[int], size: int, chance: object
    ) -> None:
        parts = [
            numbered(1), warc(response(), length=3), warc(response(), length=999), b"junk", b"\r\n",
            b"WARC/1.0\r\n", warc(b"", "request"), numbered(2)[:99], arc("http://a.example/", b"x"),
        ]  # fmt: skip
        data = bytearray(b"".join(parts[kind] for kind in kinds))
        for _ in range(len(data) // 200):
            data[chance.randrange(len(data))] = chance.randrange(256)  # type: ignore[attr-defined]
        read(bytes(data), size)

    @given(st.binary(max_size=300), st.integers(1, 50))
    @settings(deadline=None, max_examples=60)
    def test_noise_around_a_record_loses_no_byte(self, noise: bytes, size: int) -> None:
        found = read(noise + b"\n" + numbered(5) + noise, size)
        assert found.texts == [] or numbers(found)[-1] == "5"


class TestArc:
    HEAD = arc("filedesc://a.arc", b"1 0 x\nURL IP-address Archive-date\n", "text/plain")

    def test_its_pages_are_read(self) -> None:
        data = self.HEAD + arc("https://a.example/", response()) + arc("dns:a.example", b"1")
        found = read(data)
        assert (found.texts, found.reasons) == ([TEXT], ["no_page", "no_page"])
        assert found.records["url"].to_pylist() == ["https://a.example/"]

    def test_version_two_and_addresses_with_spaces_are_read(self) -> None:
        block = response()
        two = f"http://a.example/ 1.2.3.4 20260101000000 text/html 200 - - 0 a.arc {len(block)}\n"
        spaced = f"http://a.example/b c 1.2.3.4 20260101000000 text/html {len(block)}\n"
        data = self.HEAD + two.encode() + block + b"\n" + spaced.encode() + block + b"\n"
        found = read(data)
        assert found.texts == [TEXT, TEXT]
        assert found.records["url"].to_pylist()[1] == "http://a.example/b c"

    @pytest.mark.parametrize("length", [3, 400])
    def test_a_wrong_length_loses_its_own_record_alone(self, length: int) -> None:
        bad = arc("http://b.example/", response(), length=length)
        data = self.HEAD + bad + arc("http://c.example/", response())
        found = read(data, 100)
        assert found.records["url"].to_pylist() == ["http://c.example/"]
        assert found.reasons == ["no_page", "malformed_record"]

    def test_a_length_that_is_none_is_a_row(self) -> None:
        line = b"http://a.example/ 1.2.3.4 20260101000000 text/html -1\n\n"
        found = read(self.HEAD + line + arc("http://c.example/", response()))
        assert found.records["url"].to_pylist() == ["http://c.example/"]
        assert found.reasons == ["no_page", "malformed_record"]
