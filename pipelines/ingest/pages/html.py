"""HTML files: one page, and one document, a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pipelines.ingest.chunk import Chunk, ChunkBuilder, Told
from pipelines.ingest.pages.extract import text_of_page
from pipelines.ingest.pages.whole import whole_file
from pipelines.ingest.refused import Refused
from pipelines.spec.source import SourceSpec


def read_html(
    stream: Iterable[bytes], source: SourceSpec, builder: ChunkBuilder, file: int
) -> Iterator[Chunk]:
    """Reads one page; ids are made from its bytes."""
    whole = whole_file(stream, builder, file)
    if whole is not None:
        try:
            page = text_of_page(whole.data, source)
        except Refused as refused:
            builder.refuse(refused.reason, refused.detail, whole.data, whole.place)
        else:
            told = Told(licence=page.licence, encoding=page.encoding)
            builder.record(page.text.encode("utf-8"), None, whole.place, told, whole.data)
    if builder.full:
        yield builder.take()
