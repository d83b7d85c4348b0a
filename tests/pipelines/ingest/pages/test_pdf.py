"""PDF: the text layer of all pages; what is damaged or would take too much is a row."""

from __future__ import annotations

import sys
import zlib
from typing import Any

import pytest

from lineage.errors import ConfigError
from lineage.ids import RecordKey
from pipelines.ingest.pages import pdf
from pipelines.ingest.pages.pdf import text_of_pdf
from pipelines.ingest.refused import Refused
from tests.pipelines.ingest.conftest import HASHER

pytest.importorskip("pypdfium2")
FLATE = b"/Filter/FlateDecode"


def line(*texts: str) -> bytes:
    shown = " 0 -14 Td ".join(f"({text}) Tj" for text in texts)
    return f"BT /F1 12 Tf 20 100 Td {shown} ET".encode()


def document(*contents: bytes, keys: bytes = b"", trailer: bytes = b"") -> bytes:
    """A PDF of one page a content stream, written by hand."""
    kids = b" ".join(b"%d 0 R" % (5 + 2 * i) for i in range(len(contents)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, len(contents)),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        b"<</Filter/Standard/V 1/R 2/P -4/O<%s>/U<%s>>>" % (b"11" * 32, b"22" * 32),
    ]
    for number, content in enumerate(contents):
        objects += [
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents %d 0 R"
            b"/Resources<</Font<</F1 3 0 R>>>>>>" % (6 + 2 * number),
            b"<</Length %d%s>>stream\n%s\nendstream" % (len(content), keys, content),
        ]
    data, places = b"%PDF-1.4\n", []
    for number, item in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj" % number + item + b"endobj\n"
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % size + table
    end = b"trailer<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF" % (size, trailer, start)
    return data + end


def refusal(data: bytes) -> str:
    with pytest.raises(Refused) as refused:
        text_of_pdf(data)
    return str(refused.value.reason)


def test_a_file_is_one_document_of_all_its_pages(folder: Any) -> None:
    data = document(line("One", "more"), line("Two"))
    folder.write("a.pdf", data)
    (row,) = folder.read(folder.source("a.pdf", "pdf")).records.to_pylist()
    assert row["text"] == "One\nmore\n\nTwo"
    assert row["document_id"] == HASHER.document_id("wiki", RecordKey.content(data))
    assert (row["num_bytes"], row["encoding"]) == (len(data), None)


def test_packed_pages_are_read_and_a_divided_word_is_whole_again() -> None:
    packed = zlib.compress(line("This is an exam-", "ple of a text."))
    assert text_of_pdf(document(packed, keys=FLATE)) == "This is an example of a text."


def test_pages_without_a_text_layer_are_an_empty_text() -> None:
    assert text_of_pdf(document(b"", b"0 0 10 10 re f", b" ")) == ""


def test_damaged_and_encrypted_files_are_rows(folder: Any) -> None:
    good = document(line("text"))
    folder.write("a.pdf", b"not a pdf")
    folder.write("b.pdf", good[:40])
    folder.write("c.pdf", document(line("text"), trailer=b"/Encrypt 4 0 R/ID[<00><00>]"))
    folder.write("d.pdf", b"")
    folder.write("e.pdf", good)
    found = folder.read(folder.source("*.pdf", "pdf"))
    assert found.texts == ["text"]
    assert sorted(found.reasons) == ["corrupt_file"] * 3 + ["empty_file"]


def test_a_page_that_is_missing_is_damage() -> None:
    assert refusal(document(line("a")).replace(b"/Count 1", b"/Count 3")) == "corrupt_file"


@pytest.mark.parametrize("times", [1, 2])
def test_a_bomb_is_refused_before_pdfium_sees_it(times: int) -> None:
    content, keys = b" " * (pdf.MAX_STREAM_BYTES + 1), b"/Filter["
    for _ in range(times):
        content, keys = zlib.compress(content), keys + b"/FlateDecode"
    assert refusal(document(content, keys=keys + b"]")) == "page_too_complex"


def test_pages_objects_and_characters_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    data = document(*[line("text")] * 5)
    for name, limit, reason in (
        ("MAX_PAGES", 4, "page_too_complex"),
        ("MAX_OBJECTS", 4, "page_too_complex"),
        ("MAX_FILE_BYTES", 16, "text_too_long"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(pdf, name, limit)
            assert refusal(data) == reason
    assert text_of_pdf(data).count("text") == 5


def test_any_cut_of_a_file_is_text_or_refused() -> None:
    data = document(line("text"), line("more"))
    for end in range(0, len(data), 37):
        try:
            text_of_pdf(data[:end])
        except Refused:
            continue


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    with pytest.raises(ConfigError, match="need the extra pdf") as error:
        text_of_pdf(b"")
    assert "shardline[pdf]" in str(error.value.hint)
