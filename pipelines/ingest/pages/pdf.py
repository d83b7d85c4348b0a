"""PDF files: the text layer of all pages, one document a file (the extra ``pdf``)."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from lineage.errors import ConfigError
from pipelines.ingest.chunk import Chunk, ChunkBuilder
from pipelines.ingest.pages.whole import MAX_FILE_BYTES, whole_file
from pipelines.ingest.refused import Refused
from pipelines.spec.source import SourceSpec

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

MAX_PAGES = 20_000
MAX_OBJECTS = 5_000_000
# 300 bytes of memory a character, in the worst case.
MAX_STREAM_BYTES = 4 << 20
_PAGE_END = "\n\n"
# Not unpacked for the text at all; and what is no content of a page, so that it stays as it is.
_UNREAD = re.compile(rb"/(?:Image|Metadata|EmbeddedFile)\b")
_NO_CONTENT = re.compile(rb"/(?:Length1|Type1C|CIDFontType0C|OpenType|XRef|ObjStm)\b")
_STREAM = re.compile(rb"(?<!end)stream\r?\n")
# NUL, and what pdfium writes in the place of a hyphen at the end of a line.
_DROPPED = dict.fromkeys((0, 2, 0xFFFE))


def read_pdf(
    stream: Iterable[bytes],
    source: SourceSpec,  # noqa: ARG001
    builder: ChunkBuilder,
    file: int,
) -> Iterator[Chunk]:
    """Reads one file; ids are made from its bytes. A scan without text gives an empty text.

    Raises:
        ConfigError: the extra is not installed.
    """
    whole = whole_file(stream, builder, file)
    if whole is not None:
        try:
            text = text_of_pdf(whole.data)
        except Refused as refused:
            builder.refuse(refused.reason, refused.detail, whole.data, whole.place)
        else:
            builder.record(text.encode("utf-8"), None, whole.place, raw=whole.data)
    if builder.full:
        yield builder.take()


def text_of_pdf(data: bytes) -> str:
    """The text of all pages, a blank line between them.

    Raises:
        Refused: no PDF, an encrypted one, a damaged page, or more than is read of one file.
        ConfigError: the extra is not installed.
    """
    try:
        import pypdfium2
    except ImportError:
        raise ConfigError("PDF files need the extra pdf", "pip install shardline[pdf]") from None
    _bound(data)
    try:
        document = pypdfium2.PdfDocument(data)
        try:
            text = _PAGE_END.join(filter(str.strip, _pages(document)))
        finally:
            document.close()
    except pypdfium2.PdfiumError as error:
        raise Refused("corrupt_file", f"no PDF that can be read: {error}") from None
    return text


def _pages(document: PdfDocument) -> Iterator[str]:
    from pypdfium2.raw import FPDFPage_CountObjects

    if len(document) > MAX_PAGES:
        raise Refused("page_too_complex", f"over {MAX_PAGES} pages")
    objects = size = 0
    for number in range(len(document)):
        page = document[number]
        objects += FPDFPage_CountObjects(page)
        if objects > MAX_OBJECTS:
            raise Refused("page_too_complex", f"over {MAX_OBJECTS} objects on pages")
        layer = page.get_textpage()
        text = _plain(layer.get_text_bounded())
        layer.close()
        page.close()
        size += len(text)
        if size > MAX_FILE_BYTES:
            raise Refused("text_too_long", f"over {MAX_FILE_BYTES} characters")
        yield text


def _plain(text: str) -> str:
    """Lines end in line feeds, and words that a line's end divided are whole again."""
    text = text.replace("\r\n", "\n").translate(_DROPPED)
    # Unpaired surrogates stand for glyphs without a meaning.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _bound(data: bytes) -> None:
    """Refuses streams that unpack to more than a page may hold: pdfium would hold it all."""
    for match in _STREAM.finditer(data):
        start = max(data.rfind(b"obj", 0, match.start()), match.start() - 4096)
        names = data[start : match.start()]
        if _UNREAD.search(names):
            continue
        limit = MAX_FILE_BYTES if _NO_CONTENT.search(names) else MAX_STREAM_BYTES
        part = data[match.end() : data.find(b"endstream", match.end())]
        for _ in range(names.count(b"/Fl")):
            try:
                part = zlib.decompressobj().decompress(part, limit + 1)
            except zlib.error:
                break
            if len(part) > limit:
                raise Refused("page_too_complex", f"a stream over {limit} bytes")
