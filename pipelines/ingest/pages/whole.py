"""Whole files: those of which each is one document, held in memory up to a bound."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pipelines.ingest.chunk import HEAD_BYTES, ChunkBuilder, Place
from pipelines.ingest.places.streams import StreamFault

MAX_FILE_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class WholeFile:
    """The bytes of one file, and its place."""

    data: bytes
    place: Place


def whole_file(stream: Iterable[bytes], builder: ChunkBuilder, file: int) -> WholeFile | None:
    """A file as one piece; one that is too long, broken or empty is refused.

    Memory: 64 MiB; what lies behind is counted as it passes, so that the books balance.
    """
    parts: list[bytes] = []
    size = 0
    try:
        for block in stream:
            size += len(block)
            if size <= MAX_FILE_BYTES:
                parts.append(block)
    except StreamFault as fault:
        head = b"".join(parts)[:HEAD_BYTES]
        detail = f"{fault.detail}, after {size} unpacked bytes"
        builder.refuse(fault.reason, detail, head, Place(file, 0, size))
        return None
    data, place = b"".join(parts), Place(file, 0, size)
    if size > MAX_FILE_BYTES:
        builder.refuse("text_too_long", f"{size} bytes", data[:HEAD_BYTES], place)
        return None
    if not data:
        builder.refuse("empty_file", "no bytes", b"", place)
        return None
    return WholeFile(data, place)
