"""Pages of HTML: their text and their licence, with bounds in counts, never in time.

The text is what resiliparse gives: block elements as lines and paragraphs, bullets and
numbers of lists, cells apart by tabs; no addresses of links, descriptions of images or
values of forms. With ``main``, navigation and other frames of the page are left out too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.html import HTMLTree

from pipelines.ingest.pages.encoding import decoded
from pipelines.ingest.pages.shape import (
    MAX_ANCESTORS,
    MAX_COMPARISONS,
    MAX_DEPTH,
    MAX_NODES,
    shape_of,
)
from pipelines.ingest.pages.whole import MAX_FILE_BYTES
from pipelines.ingest.refused import Refused
from pipelines.spec.source import SourceSpec

__all__ = ["MAX_DEPTH", "Page", "text_of_page"]

_CHARSET = re.compile(
    rb"<meta[^>]{0,300}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})"
    rb"|<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w.:-]{1,40})",
    re.IGNORECASE,
)
# The standard looks at 1,024 bytes; pages with long heads are read too.
_HEAD_BYTES = 4096
_LICENCE = 'a[rel~="license" i][href], link[rel~="license" i][href], area[rel~="license" i][href]'


@dataclass(frozen=True, slots=True)
class Page:
    """What is read of a page.

    Attributes:
        text: may be empty.
        encoding: of its bytes; None for UTF-8.
        licence: the address behind its first ``rel="license"``, as it stands there.
    """

    text: str
    encoding: str | None
    licence: str | None


def text_of_page(page: bytes, source: SourceSpec, told: tuple[str, ...] = ()) -> Page:
    """Reads a page: its main content, or all that is visible.

    Args:
        told: encodings that a header names.

    Raises:
        Refused: an unknown encoding, a NUL character, or more markup than `shape` allows.
    """
    found = decoded(page, source.encoding, (*told, *_named_by(page)))
    _bound(page if found.encoding is None else found.text.encode("utf-8"))
    tree = HTMLTree.parse(found.text)
    licence = _licence_of(tree) if b"icense" in page or b"ICENSE" in page else None
    text = extract_plain_text(
        tree,
        preserve_formatting=True,
        main_content=source.extract == "main",
        alt_texts=False,
    )
    if len(text) > MAX_FILE_BYTES:
        raise Refused("text_too_long", f"{len(text)} characters")
    return Page(text, found.encoding, licence)


def _named_by(page: bytes) -> Iterator[str]:
    """The encoding that the page itself names."""
    match = _CHARSET.search(page, 0, _HEAD_BYTES)
    if match is not None:
        name = (match[1] or match[2]).decode("ascii", "replace")
        # Nobody can read in UTF-16 that a page is in it: the standard takes it for UTF-8.
        if not name.lower().startswith("utf-16"):
            yield name


def _bound(page: bytes) -> None:
    shape = shape_of(page)
    if shape.depth > MAX_DEPTH:
        raise Refused("nested_too_deep", f"elements nested beyond {MAX_DEPTH}")
    for number, limit, what in (
        (shape.nodes, MAX_NODES, "elements"),
        (shape.ancestors, MAX_ANCESTORS, "ancestors of elements"),
        (shape.comparisons, MAX_COMPARISONS, "comparisons of attributes"),
    ):
        if number > limit:
            raise Refused("page_too_complex", f"over {limit} {what}")


def _licence_of(tree: HTMLTree) -> str | None:
    document = tree.document
    element = None if document is None else document.query_selector(_LICENCE)
    return None if element is None else element.getattr("href") or None
