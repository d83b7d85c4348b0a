"""A store in memory: for tests, simulations and small reads; it survives nothing."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from lineage.errors import Conflict, NotFound
from storage_tiers.files import disk_border, land, require_file
from storage_tiers.store import checked_name, checked_prefix


class MemoryStore:
    """A `Store` whose objects live as long as it does."""

    def __init__(self) -> None:
        # The lock guards the check and the insert of `put` as one act.
        self._lock = threading.Lock()
        self._objects: dict[str, bytes] = {}

    def put(self, name: str, source: Path) -> None:
        checked_name(name)
        require_file(source)
        with disk_border(source.parent):
            data = source.read_bytes()
        with self._lock:
            if self._objects.setdefault(name, data) != data:
                raise Conflict(f"{name}: other bytes have this name", "objects never change")

    def fetch(self, name: str, dest: Path) -> None:
        with self.open(name) as source:
            land(source, dest)

    def open(self, name: str) -> BinaryIO:
        return io.BytesIO(self._bytes(name))

    def exists(self, name: str) -> bool:
        return checked_name(name) in self._objects

    def size(self, name: str) -> int:
        return len(self._bytes(name))

    def delete(self, name: str) -> None:
        self._objects.pop(checked_name(name), None)

    def names(self, prefix: str = "") -> Iterator[str]:
        checked_prefix(prefix)
        with self._lock:
            return iter(sorted(name for name in self._objects if name.startswith(prefix)))

    def _bytes(self, name: str) -> bytes:
        try:
            return self._objects[checked_name(name)]
        except KeyError:
            raise NotFound(f"{name}: no such object in memory") from None
