"""Plain text: one document a file, in UTF-8."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

from lineage.digest import Digest
from pipelines.ingest.chunk import HEAD_BYTES, Chunk, ChunkBuilder, Place
from pipelines.ingest.lines import MAX_LINE_BYTES
from pipelines.ingest.partition import FileRange, Partition, texts_content
from pipelines.ingest.streams import HashedRange

_BOM = b"\xef\xbb\xbf"


def read_texts(
    partition: Partition, root: Path, builder: ChunkBuilder
) -> Generator[Chunk, None, Digest]:
    """Reads a group of text files; returns the digest of what was read.

    Raises:
        OSError: a file cannot be read.
    """
    digests = []
    for ordinal, part in enumerate(partition.files):
        raw = HashedRange(root, part)
        _add_file(builder, raw, part, Place(ordinal, 0, part.length))
        digests.append(raw.digest_to_end())
        if builder.full:
            yield builder.take()
    return texts_content(digests)


def _add_file(builder: ChunkBuilder, raw: HashedRange, part: FileRange, place: Place) -> None:
    if part.length > MAX_LINE_BYTES:
        head = next(iter(raw), b"")[:HEAD_BYTES]
        builder.refuse("text_too_long", f"{part.length} bytes", head, place)
        return
    data = b"".join(raw)
    refusal = refusal_of(data)
    if refusal:
        builder.refuse(*refusal, data, place)
    else:
        # The mark names the encoding; it is no part of the text.
        builder.record(data.removeprefix(_BOM), None, place)


def refusal_of(data: bytes) -> tuple[str, str] | None:
    """Reason and detail why a file's bytes are no text, or None."""
    if not data:
        return "empty_file", "no bytes"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as wrong:
        return "invalid_utf8", f"byte {wrong.start}: {wrong.reason}"
    if (at := data.find(b"\0")) >= 0:
        return "nul_character", f"byte {at}"
    return None
