"""JSON Lines: one object a line, lines ended by a line feed alone.

U+0085 and U+2028 end no line. A carriage return before the line feed and a byte
order mark at the start of a line are passed over.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from pathlib import Path

import orjson

from lineage.digest import Digest
from pipelines.ingest.chunk import Chunk, ChunkBuilder, Place
from pipelines.ingest.lines import MAX_LINE_BYTES, Lines, LostLine, whole_lines
from pipelines.ingest.partition import Partition, compressed_content
from pipelines.ingest.streams import HashedRange, decompressed
from pipelines.spec.source import SourceSpec

_BOM = b"\xef\xbb\xbf"


class Refused(Exception):
    """A record that is not read: becomes a quarantine row.

    Args:
        reason: one of `pipelines.ingest.chunk.REASONS`.
        detail: what is wrong and where; never the text.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason, self.detail = reason, detail


def read_jsonl(
    partition: Partition, source: SourceSpec, root: Path, builder: ChunkBuilder
) -> Generator[Chunk, None, Digest]:
    """Reads one partition; returns the digest of what was read.

    Raises:
        OSError: the file cannot be read.
    """
    raw = HashedRange(root, partition.files[0])
    anything = False
    for piece in whole_lines(decompressed(raw, partition.compression)):
        anything = True
        if isinstance(piece, LostLine):
            _add_lost(builder, piece)
        else:
            yield from _add_lines(builder, source, piece)
        if builder.full:
            yield builder.take()
    if not anything:
        builder.refuse("empty_file", "no bytes", b"", Place(0, 0, 0))
    # Behind a fault there may be bytes that no reader asked for; the digest needs them.
    digest = raw.digest_to_end()
    if partition.compression:
        return compressed_content(partition.compression, digest)
    return digest


def parse_line(line: bytes, source: SourceSpec) -> tuple[bytes, str | None]:
    """The text (UTF-8) and the record's own id, where the source names a field for it.

    Raises:
        Refused: the line is no record.
    """
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        value = _second_look(line, error)
    if not isinstance(value, dict):
        raise Refused("not_an_object", f"the line holds a {type(value).__name__}")
    text = value.get(source.text)
    if not isinstance(text, str):
        if text is not None:
            raise Refused("text_not_a_string", f"{source.text!r} is a {type(text).__name__}")
        reason = "text_null" if source.text in value else "text_missing"
        raise Refused(reason, f"field {source.text!r}")
    if "\0" in text:
        raise Refused("nul_character", f"{source.text!r}, character {text.index(chr(0))}")
    record_id = None if source.id is None else own_id(value.get(source.id), source.id)
    return text.encode("utf-8"), record_id


def own_id(value: object, field: str) -> str:
    """A record's own id: a string that is not empty, or an integer in decimal.

    Raises:
        Refused: null, missing, empty, or of another type.
    """
    if value is None or value == "":
        raise Refused("id_missing", f"field {field!r}")
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise Refused("id_not_a_string", f"{field!r} is a {type(value).__name__}")


def _add_lines(builder: ChunkBuilder, source: SourceSpec, lines: Lines) -> Iterator[Chunk]:
    offset, end = lines.offset, lines.offset + len(lines.data)
    for line in lines.data.split(b"\n"):
        if offset == end:
            return
        # Only the last line of a stream may lack its line feed.
        num_bytes = min(len(line) + 1, end - offset)
        place = Place(0, offset, num_bytes)
        try:
            if len(line) > MAX_LINE_BYTES:
                raise Refused("line_too_long", f"{num_bytes} bytes")
            text, record_id = parse_line(line, source)
        except Refused as refused:
            builder.refuse(refused.reason, refused.detail, line, place)
        else:
            builder.record(text, record_id, place)
        if builder.full:
            yield builder.take()
        offset += num_bytes


def _add_lost(builder: ChunkBuilder, lost: LostLine) -> None:
    place = Place(0, lost.offset, lost.num_bytes)
    if lost.fault is None:
        builder.refuse("line_too_long", f"{lost.num_bytes} bytes", lost.head, place)
    else:
        detail = f"{lost.fault.detail}, after {lost.offset + lost.num_bytes} unpacked bytes"
        builder.refuse(lost.fault.reason, detail, lost.head, place)


def _second_look(line: bytes, error: orjson.JSONDecodeError) -> object:
    """Says why a line is no JSON, or reads it behind its byte order mark."""
    if not line.strip():
        raise Refused("blank_line", "only white space")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as wrong:
        raise Refused("invalid_utf8", f"byte {wrong.start}: {wrong.reason}") from None
    if line.startswith(_BOM):
        return _behind_bom(line.removeprefix(_BOM))
    if (at := line.find(b"\0")) >= 0:
        raise Refused("nul_character", f"byte {at}")
    if _has_lone_surrogate(text):
        raise Refused("lone_surrogate", f"character {error.pos}")
    raise Refused("invalid_json", f"{error.msg}, character {error.pos}")


def _behind_bom(line: bytes) -> object:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        if line.startswith(_BOM):
            raise Refused("invalid_json", "two byte order marks") from None
        return _second_look(line, error)


def _has_lone_surrogate(text: str) -> bool:
    # The standard library reads half a surrogate pair, orjson does not: if the first
    # succeeds and gives one, that was what stopped the second.
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return True
    except (ValueError, RecursionError):
        return False
    return False
