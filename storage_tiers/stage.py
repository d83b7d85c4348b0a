"""The stage store: outputs of the work so far, reused by build key.

An entry is a folder of sealed files and a receipt. It appears by one rename, so it is
whole or absent; it can be deleted at any time, and is then made again.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lineage.digest import Digest
from lineage.durable import disk_error, sync_file, sync_folder
from lineage.errors import IntegrityError
from lineage.keys.minting import derived_seal
from lineage.keys.sealing import OBJECT_ID_BYTES, Seal

_RECEIPT = "receipt.json"


@dataclass(frozen=True, slots=True)
class StageEntry:
    """One finished entry.

    Attributes:
        folder: where its files lie.
        receipt: numbers and ids; never text, tokens or keys.
    """

    folder: Path
    receipt: Mapping[str, Any]
    _seal_of: Callable[[bytes], Seal] = field(repr=False)

    def path(self, name: str) -> Path:
        """One file of the entry."""
        return self.folder / name

    def seal(self, name: str) -> Seal:
        """The seal of one file that was written with `StagePart.seal`."""
        return self._seal_of(bytes.fromhex(self.receipt["seals"][name]))


@dataclass(slots=True)
class StagePart:
    """An entry that is being written; `receipt` may be filled until it is finished."""

    folder: Path
    receipt: dict[str, Any]
    _new_seal: Callable[[], Seal] = field(repr=False)

    def path(self, name: str) -> Path:
        """Where to write one file."""
        return self.folder / name

    def seal(self, name: str) -> Seal:
        """A new seal for one file, noted in the receipt."""
        seal = self._new_seal()
        self.receipt["seals"][name] = seal.object_id.hex()
        return seal


class StageStore:
    """Entries by kind (``partitions``, ``resolutions``, ``shards``) and build key.

    Args:
        root: the folder of the store.
        workspace_id: 16 bytes.
        stage_key: 32 bytes; the keys of all files follow from it.
        entropy: gives random bytes.
    """

    def __init__(
        self, root: Path, workspace_id: bytes, stage_key: bytes, entropy: Callable[[int], bytes]
    ) -> None:
        self._root = root
        self._workspace_id = workspace_id
        self._stage_key = stage_key
        self._entropy = entropy

    def get(self, kind: str, key: Digest) -> StageEntry | None:
        """A finished entry, or None.

        Raises:
            IntegrityError: its receipt cannot be read: a disk fault, since it is written whole.
        """
        folder = self._folder(kind, key)
        try:
            receipt = json.loads((folder / _RECEIPT).read_bytes())
        except FileNotFoundError:
            return None
        except ValueError:
            raise IntegrityError(
                f"stage entry {kind}/{key.hex}: its receipt is damaged",
                f"delete {folder}, then build again: it is made anew",
            ) from None
        return StageEntry(folder, receipt, self._seal)

    def entries(self, kind: str) -> Iterator[StageEntry]:
        """All finished entries of a kind, by key.

        Raises:
            IntegrityError: as `get`.
        """
        root = self._root / kind
        for folder in sorted(root.iterdir()) if root.is_dir() else ():
            if not folder.name.startswith("."):
                entry = self.get(kind, Digest(bytes.fromhex(folder.name)))
                if entry is not None:
                    yield entry

    @contextmanager
    def write(self, kind: str, key: Digest) -> Iterator[StagePart]:
        """Writes an entry; it appears when the block ends well.

        Safe to run twice, also at the same time: the first to finish wins, and the
        other's bytes are dropped, since equal keys mean equal content.

        Raises:
            Unavailable: the disk is full or cannot be written.
        """
        with self.scratch(kind) as part:
            yield part
            self._finish(part, self._folder(kind, key))

    @contextmanager
    def scratch(self, kind: str) -> Iterator[StagePart]:
        """Room for sealed files that are gone when the block ends.

        Crash point: what a killed process leaves here is nobody's; `prune` drops it.

        Raises:
            Unavailable: the disk is full or cannot be written.
        """
        folder = self._root / kind / f".{self._entropy(16).hex()}.part"
        try:
            folder.mkdir(parents=True)
            yield StagePart(folder, {"seals": {}}, self._new_seal)
        except OSError as error:
            raise disk_error(error, self._root) from None
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def prune(self, kind: str, keep: set[Digest]) -> None:
        """Drops the entries of a kind that are not kept, and what a crash left behind."""
        names = {key.hex for key in keep}
        root = self._root / kind
        for folder in root.iterdir() if root.is_dir() else ():
            if folder.name not in names:
                shutil.rmtree(folder, ignore_errors=True)

    def _finish(self, part: StagePart, folder: Path) -> None:
        (part.folder / _RECEIPT).write_text(json.dumps(part.receipt, sort_keys=True))
        for path in part.folder.iterdir():
            sync_file(path)
        sync_folder(part.folder)
        # Crash point: before this rename the entry does not exist and is made again.
        try:
            part.folder.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
        sync_folder(folder.parent)

    def _folder(self, kind: str, key: Digest) -> Path:
        return self._root / kind / key.hex

    def _seal(self, object_id: bytes) -> Seal:
        return derived_seal(self._workspace_id, object_id, self._stage_key)

    def _new_seal(self) -> Seal:
        return self._seal(self._entropy(OBJECT_ID_BYTES))
