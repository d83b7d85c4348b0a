"""Pages of HTML: their text, with bounds in bytes and depth, never in time."""

from __future__ import annotations

import re

from resiliparse.extract.html2text import extract_plain_text

from pipelines.ingest.encoding import Decoded, decoded
from pipelines.ingest.refused import Refused
from pipelines.spec.source import SourceSpec

# Beyond it the search for the main content takes quadratic time; browsers stop at 512.
MAX_DEPTH = 2048
_NESTING = re.compile(
    rb"<(/?)(?:div|span|section|article|main|aside|header|footer|nav|table|tbody|tr|td|ul|ol|dl|"
    rb"blockquote|font|center|b|i|u|a|em|strong|small|big|form|fieldset|ins|del|sub|sup|tt|code)"
    rb"[\s>/]",
    re.IGNORECASE,
)
_META_CHARSET = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.I
)
_LICENCE = re.compile(rb"<(?:a|link)\b[^>]{0,400}\brel\s*=\s*[\"']?license\b[^>]{0,400}>", re.I)
_HREF = re.compile(rb"\bhref\s*=\s*[\"']?([^\s\"'>]{1,400})", re.I)
_HEAD_BYTES = 4096


def text_of_page(page: bytes, source: SourceSpec, told: tuple[str, ...] = ()) -> Decoded:
    """The text of a page: its main content, or all that is visible.

    Args:
        told: encodings that a header names.

    Raises:
        Refused: an unknown encoding, or elements nested beyond `MAX_DEPTH`.
    """
    if depth_of(page) > MAX_DEPTH:
        raise Refused("nested_too_deep", f"elements nested beyond {MAX_DEPTH}")
    meta = _META_CHARSET.search(page[:_HEAD_BYTES])
    names = (*told, meta[1].decode("ascii")) if meta else told
    found = decoded(page, source.encoding, names)
    text = extract_plain_text(
        found.text,
        preserve_formatting=True,
        main_content=source.extract == "main",
        alt_texts=False,
    )
    return Decoded(text, found.encoding)


def licence_of_page(page: bytes) -> str | None:
    """The address behind ``rel="license"``, where a page has one."""
    if b"license" not in page:
        return None
    element = _LICENCE.search(page)
    href = None if element is None else _HREF.search(element[0])
    return None if href is None else href[1].decode("utf-8", "replace")


def depth_of(page: bytes) -> int:
    """How deep elements that must be closed are nested, at most; cheap for most pages."""
    if page.count(b"<") <= MAX_DEPTH:
        return 0
    depth = deepest = 0
    for match in _NESTING.finditer(page):
        depth = max(depth - 1, 0) if match[1] else depth + 1
        deepest = max(deepest, depth)
    return deepest
