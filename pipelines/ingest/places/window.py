"""A window on a stream of bytes: what was read of it and not passed yet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pipelines.ingest.chunk import HEAD_BYTES
from pipelines.ingest.places.streams import StreamFault

# A sign that is searched for is shorter than this.
_SIGN_BYTES = 16 << 10


class Window:
    """The bytes of a stream from its `offset` on, as many as were asked for.

    Args:
        stream: blocks, of which some may be empty. A fault ends it, and is kept.

    Attributes:
        data: the bytes held; those before `at` are passed.
        at: where the window starts in `data`.
        offset: the same place in the stream.
        fault: why the stream ended, if not by itself.
    """

    def __init__(self, stream: Iterable[bytes]) -> None:
        self._blocks = iter(stream)
        self._ended = False
        self.data = bytearray()
        self.at = 0
        self.offset = 0
        self.fault: StreamFault | None = None

    def fill(self, size: int) -> int:
        """Reads until so many bytes are held; gives how many are, fewer at the end."""
        while len(self.data) - self.at < size and self._more():
            pass
        return len(self.data) - self.at

    def take(self, size: int) -> bytes:
        """Passes bytes that are held, and gives them."""
        part = bytes(memoryview(self.data)[self.at : self.at + size])
        self.drop(len(part))
        return part

    def drop(self, size: int) -> int:
        """Passes so many bytes, held or not, in bounded memory; gives how many there were."""
        left = size
        while left:
            part = min(left, len(self.data) - self.at)
            self.at += part
            self.offset += part
            left -= part
            if left and not self._more():
                break
        return size - left

    def head(self) -> bytes:
        """The first 64 KiB of the window."""
        self.fill(HEAD_BYTES)
        return bytes(memoryview(self.data)[self.at : self.at + HEAD_BYTES])

    def drop_to(self, sign: re.Pattern[bytes]) -> int:
        """Passes everything in front of a sign, behind the first byte; gives how much it was."""
        passed = self.drop(1)
        while True:
            match = sign.search(self.data, self.at)
            if match is not None:
                return passed + self.drop(match.start() - self.at)
            held = len(self.data) - self.at
            # What may be the start of a sign waits for the rest of it.
            passed += self.drop(max(held - _SIGN_BYTES, 0))
            if not self._more():
                return passed + self.drop(len(self.data) - self.at)

    def rest(self) -> Iterator[bytes]:
        """What was not passed, as a stream again.

        Raises:
            StreamFault: the one that ended the stream, after everything before it.
        """
        while self.fill(1):
            yield self.take(len(self.data) - self.at)
        if self.fault is not None:
            raise self.fault

    def _more(self) -> bool:
        if self._ended:
            return False
        try:
            block = next(self._blocks, None)
        except StreamFault as fault:
            self.fault, block = fault, None
        if block is None:
            self._ended = True
            return False
        # One passed byte stays: a sign may look at the one before it.
        del self.data[: max(self.at - 1, 0)]
        self.at = min(self.at, 1)
        self.data += block
        return True
