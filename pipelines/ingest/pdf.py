"""PDF files: the text layer of all pages, one document a file (the extra ``pdf``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lineage.errors import ConfigError
from pipelines.ingest.chunk import Chunk, ChunkBuilder
from pipelines.ingest.refused import Refused
from pipelines.ingest.whole import MAX_FILE_BYTES, whole_file
from pipelines.spec.source import SourceSpec

_PAGE_END = "\n\n"


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
        Refused: no PDF, an encrypted one, or a damaged page.
        ConfigError: the extra is not installed.
    """
    try:
        import pypdfium2
    except ImportError:
        raise ConfigError("PDF files need the extra pdf", "pip install shardline[pdf]") from None
    try:
        document = pypdfium2.PdfDocument(data)
        try:
            pages = [page.get_textpage().get_text_bounded() for page in document]
        finally:
            document.close()
    except pypdfium2.PdfiumError as error:
        raise Refused("corrupt_file", f"no PDF that can be read: {error}") from None
    text = _PAGE_END.join(pages).replace("\r\n", "\n").replace("\0", "")
    # Unpaired surrogates stand for glyphs without a meaning.
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if len(text) > MAX_FILE_BYTES:
        raise Refused("text_too_long", f"{len(text)} characters")
    return text
