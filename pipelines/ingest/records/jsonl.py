"""JSON Lines: one object a line, lines ended by a line feed alone.

U+0085 and U+2028 end no line. A carriage return before the line feed and a byte
order mark at the start of a line are passed over.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import orjson

from pipelines.ingest.chunk import Chunk, ChunkBuilder, Place
from pipelines.ingest.fields import FieldMap, Mapped, kind_of
from pipelines.ingest.records.lines import MAX_LINE_BYTES, Lines, LostLine, whole_lines
from pipelines.ingest.refused import Refused
from pipelines.spec.source import SourceSpec

_BOM = b"\xef\xbb\xbf"


def read_jsonl(
    stream: Iterable[bytes], source: SourceSpec, builder: ChunkBuilder, file: int
) -> Iterator[Chunk]:
    """Reads the lines of one unpacked stream; a full chunk is given out at once.

    Args:
        stream: blocks of bytes; may end in a `StreamFault`.
        file: ordinal for the places of records.

    Raises:
        OSError: the file cannot be read.
    """
    fields, anything = FieldMap(source), False
    for piece in whole_lines(stream):
        anything = True
        if isinstance(piece, LostLine):
            _add_lost(builder, piece, file)
        else:
            yield from _add_lines(builder, fields, piece, file)
        if builder.full:
            yield builder.take()
    if not anything:
        builder.refuse("empty_file", "no bytes", b"", Place(file, 0, 0))


def parse_line(line: bytes, fields: FieldMap) -> Mapped:
    """The document of a line.

    Raises:
        Refused: the line is no record.
    """
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        value = _second_look(line, error)
    if not isinstance(value, dict):
        raise Refused("not_an_object", f"it is {kind_of(value)}")
    return fields.document(value)


def _add_lines(builder: ChunkBuilder, fields: FieldMap, lines: Lines, file: int) -> Iterator[Chunk]:
    offset, end = lines.offset, lines.offset + len(lines.data)
    for line in lines.data.split(b"\n"):
        if offset == end:
            return
        # Only the last line of a stream may lack its line feed.
        num_bytes = min(len(line) + 1, end - offset)
        place = Place(file, offset, num_bytes)
        try:
            if len(line) > MAX_LINE_BYTES:
                raise Refused("line_too_long", f"{num_bytes} bytes")
            mapped = parse_line(line, fields)
        except Refused as refused:
            builder.refuse(refused.reason, refused.detail, line, place)
        else:
            builder.record(mapped.text, mapped.record_id, place, mapped.told)
        if builder.full:
            yield builder.take()
        offset += num_bytes


def _add_lost(builder: ChunkBuilder, lost: LostLine, file: int) -> None:
    place = Place(file, lost.offset, lost.num_bytes)
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
