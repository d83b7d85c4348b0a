"""WARC, WET and ARC: a page, or the text of one, a record.

Documents are responses with status 200 and resources whose type is HTML or plain text, and
the conversions of a WET file; ids are made from the payload: what lies behind the header of
HTTP, as it lies there. Every other record is a quarantine row ``no_page``, so that all bytes
of the file are accounted for. A record that cannot be read is a row too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pipelines.ingest.chunk import Chunk, ChunkBuilder, Place, Told
from pipelines.ingest.pages.encoding import decoded
from pipelines.ingest.pages.extract import text_of_page
from pipelines.ingest.refused import Refused
from pipelines.ingest.web.captures import Capture, captures
from pipelines.ingest.web.http import HttpResponse, charset, http_response, media_type
from pipelines.spec.source import SourceSpec

_PAGES = frozenset({"text/html", "application/xhtml+xml"})
# Crawlers keep their logs, settings and answers of DNS under addresses of other schemes.
_SCHEMES = ("http:", "https:", "ftp:", "file:")
_NO_NAME = re.compile(r"[^\w/+.-]", re.ASCII)


def read_warc(
    stream: Iterable[bytes], source: SourceSpec, builder: ChunkBuilder, file: int
) -> Iterator[Chunk]:
    """Reads one unpacked stream of records, of WARC or of ARC."""
    for found in captures(stream):
        place = Place(file, found.offset, found.num_bytes)
        if isinstance(found, Capture):
            try:
                _add(found, place, source, builder)
            except Refused as refused:
                head = b"" if refused.reason == "no_page" else found.block
                builder.refuse(refused.reason, refused.detail, head, place)
        else:
            builder.refuse(found.reason, found.detail, found.head, place)
        if builder.full:
            yield builder.take()


def _add(capture: Capture, place: Place, source: SourceSpec, builder: ChunkBuilder) -> None:
    url = capture.headers.get("warc-target-uri", "").strip("<>") or None
    found, content_type = _response(capture, (url or "").lower())
    type_, charsets = media_type(content_type), charset(content_type)
    if found.status != 200:
        raise Refused("no_page", f"status {found.status}")
    if type_ not in _PAGES and type_ != "text/plain":
        raise Refused("no_page", f"type {_shown(type_)}")
    if not capture.whole:
        raise Refused("text_too_long", f"{capture.num_bytes} bytes")
    if "warc-segment-number" in capture.headers:
        raise Refused("malformed_record", "a segment of a longer record")
    if type_ in _PAGES:
        page = text_of_page(found.body(), source, charsets)
        text, told = page.text, Told(url, page.licence, page.encoding)
    else:
        plain = decoded(found.body(), source.encoding, charsets)
        text, told = plain.text, Told(url, None, plain.encoding)
    builder.record(text.encode("utf-8"), None, place, told, found.payload)


def _response(capture: Capture, url: str) -> tuple[HttpResponse, str]:
    """What a record carries, as a response, and its type.

    Raises:
        Refused: records of its kind carry no page, or it should be a response and is none.
    """
    kind = capture.headers.get("warc-type", "").lower()
    if kind not in ("response", "resource", "conversion"):
        raise Refused("no_page", f"a record of type {_shown(kind)}")
    declared = capture.headers.get("content-type", "")
    if kind == "response" and (
        media_type(declared) == "application/http"
        or capture.block.startswith(b"HTTP/")
        or url.startswith("http")
    ):
        found = http_response(capture.block)
        identified = capture.headers.get("warc-identified-payload-type", "")
        return found, found.headers.get("content-type", "") or identified
    if kind != "conversion" and not url.startswith(_SCHEMES):
        raise Refused("no_page", f"a {kind} of scheme {_shown(url.partition(':')[0])}")
    return HttpResponse(200, {}, capture.block), declared


def _shown(name: str) -> str:
    return _NO_NAME.sub("", name)[:60] or "unknown"
