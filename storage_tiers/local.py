"""A store in a local folder, in the very layout that DVC reads and writes.

The hot tier is such a store over DVC's cache, the cold tier one over DVC's remote.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from lineage.durable import sync_file, sync_folder
from lineage.errors import Conflict, NotFound, OutcomeUnknown
from storage_tiers.files import (
    disk_border,
    land,
    make_folders,
    require_file,
    same_bytes,
    write_durably,
)
from storage_tiers.store import INCOMING, checked_name, checked_prefix


class LocalStore:
    """A `Store` whose objects are read-only files below one folder.

    The folder must exist and allow hard links. It is never made here: where a disk is
    not mounted, a folder made in its place would take the bytes to another disk.
    Beside what `Store` says, a name cannot also be the folder of another: Conflict.

    Args:
        root: the folder.
        entropy: names half-written files; two writers must not draw the same bytes.
    """

    def __init__(self, root: Path, entropy: Callable[[int], bytes] = os.urandom) -> None:
        self.root = root
        self._entropy = entropy

    def put(self, name: str, source: Path) -> None:
        final = self.path(name)
        require_file(source)
        with disk_border(self.root):
            self._require_root()
            if final.exists():
                self._require_same(name, source)
                self._settle(name)
                return
        with self.incoming(self._entropy(8).hex()) as temp:
            with disk_border(self.root), source.open("rb") as stream:
                write_durably(stream, temp)
            self.adopt(name, temp)

    def adopt(self, name: str, temp: Path) -> None:
        """Gives a file that `incoming` made its final name, without a copy.

        The file must be complete and synced, as `write_durably` leaves it.

        Raises:
            Conflict: other bytes have this name.
            Unavailable: the store is full, read-only or away; the name is not visible.
            OutcomeUnknown: the name is visible but may not last: adopt or put it again.
        """
        final = self.path(name)
        with disk_border(self.root):
            self._make_parent(name)
            # Crash before the link: the half-written name stays until `discard_unfinished`.
            # Crash after it: the object is complete, and the next `put` finds it.
            try:
                # A link never overwrites: of two writers the second is told.
                os.link(temp, final)
            except FileExistsError:
                self._require_same(name, temp)
            self._settle(name)

    @contextmanager
    def incoming(self, tag: str) -> Iterator[Path]:
        """A path on the store's own disk for a file on its way; removed at the end.

        Args:
            tag: makes the path this writer's own, such as 16 random hex digits.

        Raises:
            Unavailable: the store is read-only or away.
        """
        folder = self.root / INCOMING
        temp = folder / tag
        with disk_border(self.root):
            self._require_root()
            folder.mkdir(exist_ok=True)
        try:
            yield temp
        finally:
            with disk_border(self.root):
                temp.unlink(missing_ok=True)

    def discard_unfinished(self) -> int:
        """Removes what killed writers left half-written, and says how many files.

        The caller MUST know that no other writer is at work on this store.
        """
        with disk_border(self.root):
            self._require_root()
            left = list((self.root / INCOMING).glob("*"))
            for path in left:
                path.unlink(missing_ok=True)
        return len(left)

    def path(self, name: str) -> Path:
        """Where the object lies, or would lie."""
        return self.root / checked_name(name)

    def fetch(self, name: str, dest: Path) -> None:
        with self.open(name) as source:
            land(source, dest)

    def open(self, name: str) -> BinaryIO:
        path = self._present(name)
        with disk_border(self.root):
            return path.open("rb")

    def exists(self, name: str) -> bool:
        path = self.path(name)
        with disk_border(self.root):
            self._require_root()
            return path.is_file()

    def size(self, name: str) -> int:
        path = self._present(name)
        with disk_border(self.root):
            return path.stat().st_size

    def delete(self, name: str) -> None:
        path = self.path(name)
        with disk_border(self.root):
            self._require_root()
            try:
                path.unlink()
            except FileNotFoundError:
                return
            sync_folder(path.parent)

    def names(self, prefix: str = "") -> Iterator[str]:
        start = self.root / checked_prefix(prefix).rpartition("/")[0]
        with disk_border(self.root):
            self._require_root()
            found = [name for name in self._walk(start) if name.startswith(prefix)]
        return iter(sorted(found))

    def _walk(self, start: Path) -> Iterator[str]:
        for folder, subfolders, files in os.walk(start, onerror=_unless_gone):
            if Path(folder) == self.root and INCOMING in subfolders:
                subfolders.remove(INCOMING)
            for file in files:
                yield (Path(folder) / file).relative_to(self.root).as_posix()

    def _present(self, name: str) -> Path:
        if not self.exists(name):
            raise NotFound(f"{name}: no such object in {self.root}")
        return self.path(name)

    def _require_root(self) -> None:
        self.root.stat()

    def _make_parent(self, name: str) -> None:
        try:
            make_folders(self.path(name).parent, self.root)
        except FileExistsError:
            raise Conflict(f"{name}: an object lies where its folder should be") from None

    def _require_same(self, name: str, source: Path) -> None:
        final = self.path(name)
        if final.is_dir() or not same_bytes(source, final):
            raise Conflict(f"{name}: other bytes have this name in {self.root}")

    def _settle(self, name: str) -> None:
        """Syncs a visible object and its name, which another writer may not have done."""
        path = self.path(name)
        try:
            sync_file(path)
            sync_folder(path.parent)
        except OSError as error:
            raise OutcomeUnknown(
                f"{name}: written to {self.root}, but the disk did not confirm it",
                "put it again once the disk answers",
            ) from error


def _unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise error
