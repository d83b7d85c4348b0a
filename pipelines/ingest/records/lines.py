"""Lines out of a stream of bytes: ended by a line feed alone, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pipelines.ingest.chunk import HEAD_BYTES
from pipelines.ingest.places.streams import StreamFault

MAX_LINE_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Lines:
    """Whole lines that follow each other; only the stream's last may lack its line feed.

    Attributes:
        offset: of the first line, in bytes of the stream.
    """

    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class LostLine:
    """A line that is not held: too long, or cut off by a fault of the stream.

    Attributes:
        num_bytes: with its line feed, if there is one; 0 for a fault between lines.
        head: its first 64 KiB.
        fault: None for a line that is too long.
    """

    offset: int
    num_bytes: int
    head: bytes
    fault: StreamFault | None


def whole_lines(blocks: Iterable[bytes]) -> Iterator[Lines | LostLine]:
    """Cuts a stream behind line feeds, and passes over lines beyond 64 MiB.

    A fault of the stream ends it: as a `LostLine` with what was left of a line.
    """
    tail = _Tail()
    try:
        for block in blocks:
            yield from tail.add(block)
    except StreamFault as fault:
        if fault.clean:
            yield from tail.end()
        yield tail.lost(fault)
        return
    yield from tail.end()


class _Tail:
    """The bytes behind the last line feed, and the place of their start in the stream."""

    def __init__(self) -> None:
        self._offset = 0
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, block: bytes) -> Iterator[Lines | LostLine]:
        # The end of a long line comes first, then the whole lines behind it.
        if self._size > MAX_LINE_BYTES and (end := block.find(b"\n") + 1):
            self._keep(block[:end])
            yield self.lost(None)
            block = block[end:]
        if self._size <= MAX_LINE_BYTES and (end := block.rfind(b"\n") + 1):
            self._keep(block[:end])
            yield Lines(*self._take())
            block = block[end:]
        self._keep(block)
        if self._size > MAX_LINE_BYTES:
            # Only the head of a line that is too long is ever shown.
            self._parts = [b"".join(self._parts)[:HEAD_BYTES]]

    def end(self) -> Iterator[Lines | LostLine]:
        if self._size > MAX_LINE_BYTES:
            yield self.lost(None)
        elif self._size:
            yield Lines(*self._take())

    def lost(self, fault: StreamFault | None) -> LostLine:
        size = self._size
        offset, data = self._take()
        return LostLine(offset, size, data[:HEAD_BYTES], fault)

    def _keep(self, data: bytes) -> None:
        self._size += len(data)
        self._parts.append(data)

    def _take(self) -> tuple[int, bytes]:
        offset, data = self._offset, b"".join(self._parts)
        self._offset, self._parts, self._size = offset + self._size, [], 0
        return offset, data
