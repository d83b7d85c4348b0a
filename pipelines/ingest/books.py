"""The books of one stream: each of its bytes belongs to one record or refusal."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.ingest.chunk import ChunkBuilder, Place
from pipelines.ingest.fields import Mapped
from pipelines.ingest.refused import Refused


@dataclass(slots=True)
class _Entry:
    found: Mapped | Refused
    bytes_there: bytes
    raw: bytes | None
    place: Place


class Books:
    """Records and refusals in the order of a stream, without a gap between them.

    The last one waits, since bytes that are nothing by themselves may follow it.

    Args:
        file: ordinal for the places of records.
    """

    def __init__(self, builder: ChunkBuilder, file: int) -> None:
        self._builder, self._file = builder, file
        self._last: _Entry | None = None
        self.num_bytes = 0

    @property
    def empty(self) -> bool:
        """True when nothing waits: at the start, and behind `flush`."""
        return self._last is None

    def add(
        self, found: Mapped | Refused, bytes_there: bytes, num_bytes: int, raw: bytes | None = None
    ) -> None:
        """Adds what the next bytes are.

        Args:
            bytes_there: the bytes as they lie there, of which a refusal shows the first.
            num_bytes: how many bytes of the stream they are, separators and all.
            raw: as `ChunkBuilder.record` takes it.
        """
        self.flush()
        place = Place(self._file, self.num_bytes, num_bytes)
        self._last = _Entry(found, bytes_there, raw, place)
        self.num_bytes += num_bytes

    def more(self, num_bytes: int) -> None:
        """Gives bytes to the last entry; only while it waits."""
        if self._last is not None:
            place = self._last.place
            self._last.place = Place(place.file, place.offset, place.num_bytes + num_bytes)
            self.num_bytes += num_bytes

    def flush(self) -> None:
        """Hands the last entry to the builder."""
        entry, self._last = self._last, None
        if entry is None:
            return
        found = entry.found
        if isinstance(found, Refused):
            self._builder.refuse(found.reason, found.detail, entry.bytes_there, entry.place)
        else:
            self._builder.record(found.text, found.record_id, entry.place, found.told, entry.raw)
