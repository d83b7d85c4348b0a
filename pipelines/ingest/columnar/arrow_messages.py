"""The messages of Arrow IPC, found by their frames and headers; no body is read.

The frame: ``FFFFFFFF`` (missing in streams before Arrow 0.15), the length of the header as int32,
the header padded to 8 bytes, the body. The header is a flatbuffer of the table `Message`: version,
kind, a table of the kind, length of the body as int64. A table of a batch begins with its rows.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import pyarrow as pa

SCHEMA, DICTIONARY, BATCH = 1, 2, 3
_MAGIC = b"ARROW1"
_CONTINUES = b"\xff\xff\xff\xff"
_MAX_HEADER_BYTES = 64 << 20
_MAX_ROWS = (1 << 31) - 1
# Places in the table `Message`, and in the tables of batches.
_KIND, _HEADER, _BODY_LENGTH = 1, 2, 3
_NUM_ROWS = 0


@dataclass(frozen=True, slots=True)
class Message:
    """One message with its frame.

    Attributes:
        kind: `SCHEMA`, `DICTIONARY`, `BATCH`, or another that holds no rows.
        start: first byte in the file.
        length: bytes of frame, header and body.
        num_rows: of a batch; else 0.
    """

    kind: int
    start: int
    length: int
    num_rows: int


@dataclass(frozen=True, slots=True)
class Messages:
    """The messages of a file that are whole.

    Attributes:
        random_access: a file with a table of contents, not a stream.
        end: behind the last whole message.
        damage: why there may have been more, or empty.
    """

    messages: tuple[Message, ...]
    random_access: bool
    end: int
    damage: str


def messages(file: pa.NativeFile) -> Messages:
    """Finds all messages of a file or stream.

    Raises:
        OSError: the file cannot be read.
    """
    size = file.size()
    random_access = _read(file, 0, len(_MAGIC)) == _MAGIC
    at = 8 if random_access else 0
    limit = _limit(file, size) if random_access else size
    found: list[Message] = []
    damage, ended = "", False
    while at < limit and not ended:
        try:
            message = _message(file, at, limit)
        except (struct.error, IndexError, ValueError) as error:
            damage = f"no message at byte {at}: {error}"
            break
        at += message.length
        ended = message.kind < 0
        if not ended:
            found.append(message)
    if not damage and at < limit:
        damage = f"{limit - at} bytes behind the end"
    elif not damage and random_access and limit == size:
        damage = "its table of contents is missing"
    return Messages(tuple(found), random_access, at, damage)


def _limit(file: pa.NativeFile, size: int) -> int:
    """Where the table of contents begins; the size where there is none."""
    tail = _read(file, max(size - 10, 0), 10)
    if len(tail) < 10 or tail[4:] != _MAGIC:
        return size
    start = size - 10 - int(struct.unpack("<i", tail[:4])[0])
    return start if 8 <= start <= size - 10 else size


def _message(file: pa.NativeFile, at: int, limit: int) -> Message:
    """The message at a place; of kind -1 for the end of the stream."""
    frame = _read(file, at, 8)
    skipped = 4 if frame[:4] == _CONTINUES else 0
    (length,) = struct.unpack_from("<i", frame, skipped)
    start = at + skipped + 4
    if length == 0:
        return Message(-1, at, start - at, 0)
    if not 0 < length <= min(_MAX_HEADER_BYTES, limit - start):
        raise ValueError(f"a header of {length} bytes")
    header = _read(file, start, length)
    table = struct.unpack_from("<I", header)[0]
    kind = _field(header, table, _KIND, "<B")
    body = _field(header, table, _BODY_LENGTH, "<q")
    if not 0 <= body <= limit - start - length:
        raise ValueError(f"a body of {body} bytes, {limit - start - length} are there")
    num_rows = 0
    if kind == BATCH:
        num_rows = _field(header, _pointed(header, table, _HEADER), _NUM_ROWS, "<q")
        if not 0 <= num_rows <= _MAX_ROWS:
            raise ValueError(f"a batch of {num_rows} rows")
    return Message(kind, at, start - at + length + body, num_rows)


def _field(data: bytes, table: int, number: int, kind: str) -> int:
    """A number in a flatbuffer's table; 0 where it is left out."""
    place = _place(data, table, number)
    return int(struct.unpack_from(kind, data, place)[0]) if place else 0


def _pointed(data: bytes, table: int, number: int) -> int:
    """A table that a table points at."""
    place = _place(data, table, number)
    if not place:
        raise ValueError("a table is missing")
    return place + int(struct.unpack_from("<I", data, place)[0])


def _place(data: bytes, table: int, number: int) -> int:
    names = table - int(struct.unpack_from("<i", data, table)[0])
    if names < 0:
        raise ValueError("a table lies outside the header")
    (length,) = struct.unpack_from("<H", data, names)
    if 4 + 2 * number + 2 > length:
        return 0
    (offset,) = struct.unpack_from("<H", data, names + 4 + 2 * number)
    return table + int(offset) if offset else 0


def _read(file: pa.NativeFile, start: int, length: int) -> bytes:
    file.seek(start)
    data: bytes = file.read(length)
    return data
