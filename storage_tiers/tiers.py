"""The two tiers of one workspace, and what of a version lies on which.

Hot is a local folder (DVC's cache) that readers open directly; cold is any store
(DVC's remote). Bytes from cold are believed only after their own SHA-256 agrees.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from lineage.digest import Digest
from lineage.errors import IntegrityError, NotFound
from lineage.finding import Finding
from lineage.manifests.storage import StoredObject
from storage_tiers.files import disk_border, write_durably
from storage_tiers.local import LocalStore
from storage_tiers.store import Store
from storage_tiers.stored import store_name

TierName = Literal["hot", "cold"]
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Tier:
    """A store and its cost class."""

    name: TierName
    store: Store


@dataclass(frozen=True, slots=True)
class TierStatus:
    """What of some objects lies where; an object on both tiers counts on both.

    Attributes:
        num_hot: objects on hot.
        hot_size_bytes: their bytes, as the manifest has them.
        num_cold: objects on cold.
        cold_size_bytes: their bytes.
        missing: names of objects that are on no tier, in the order given.
    """

    num_hot: int
    hot_size_bytes: int
    num_cold: int
    cold_size_bytes: int
    missing: tuple[str, ...]


class Tiers:
    """The hot and the cold tier.

    Args:
        hot: the folder that readers open objects in.
        cold: where every published object also lies.
        entropy: names files on their way to hot; workers must not draw the same bytes.
    """

    def __init__(self, hot: LocalStore, cold: Store, entropy: Callable[[int], bytes]) -> None:
        self.hot = hot
        self.cold = cold
        self._entropy = entropy

    def tier(self, name: TierName) -> Tier:
        """The tier of that name."""
        return Tier("hot", self.hot) if name == "hot" else Tier("cold", self.cold)

    def where(self, obj: StoredObject) -> set[TierName]:
        """The tiers that have the object; its bytes are not read.

        Raises:
            Unavailable: a tier does not answer.
        """
        names: tuple[TierName, ...] = ("hot", "cold")
        return {name for name in names if self.tier(name).store.exists(store_name(obj))}

    def status(self, objs: Iterable[StoredObject]) -> TierStatus:
        """Counts objects and bytes on each tier.

        Raises:
            Unavailable: a tier does not answer.
        """
        places = [(obj, self.where(obj)) for obj in objs]
        hot = [obj.size_bytes for obj, names in places if "hot" in names]
        cold = [obj.size_bytes for obj, names in places if "cold" in names]
        missing = tuple(obj.name for obj, names in places if not names)
        return TierStatus(len(hot), sum(hot), len(cold), sum(cold), missing)

    def path_on_hot(self, obj: StoredObject) -> Path:
        """A path to open the object at; brings it back from cold where it is absent.

        A demotion may remove the path at any time: who opens it and finds nothing asks
        again. An open file stays readable. Any number of workers may ask at once. What
        is on hot already is compared by size alone; its seal shows the rest.

        Raises:
            NotFound: the object is on no tier.
            IntegrityError: the bytes on cold, or the size on hot, are wrong; nothing
                comes to hot.
            Unavailable: a tier does not answer, or hot is full.
        """
        path = self.hot.path(store_name(obj))
        if not self.hot.exists(store_name(obj)):
            self._bring_back(obj)
        elif self.hot.size(store_name(obj)) != obj.size_bytes:
            raise _wrong(Finding("the size is wrong", _where(obj, "hot")))
        return path

    def open(self, obj: StoredObject) -> BinaryIO:
        """The object as a file, from hot or else from cold; nothing moves.

        The bytes are not verified here: the seal of the object does it.

        Raises:
            NotFound: the object is on no tier.
            Unavailable: a tier does not answer.
        """
        stores: tuple[Store, ...] = (self.hot, self.cold)
        for store in stores:
            if store.exists(store_name(obj)):
                return store.open(store_name(obj))
        raise _nowhere(obj)

    def verify(self, obj: StoredObject, tier: TierName) -> Finding | None:
        """Reads the whole object on one tier and compares size and SHA-256.

        Returns:
            None when all is right; a finding when the object is absent or other bytes.

        Raises:
            Unavailable: the tier does not answer.
        """
        store = self.tier(tier).store
        if not store.exists(store_name(obj)):
            return Finding("the object is missing", _where(obj, tier))
        sha256 = hashlib.sha256()
        size_bytes = 0
        with store.open(store_name(obj)) as file, disk_border(Path(tier)):
            while block := file.read(_BLOCK_BYTES):
                sha256.update(block)
                size_bytes += len(block)
        return _compare(obj, tier, size_bytes, Digest(sha256.digest()))

    def findings(self, obj: StoredObject) -> list[Finding]:
        """What is wrong with an object on the tiers that have it.

        Raises:
            Unavailable: a tier does not answer.
        """
        places = self.where(obj)
        if not places:
            return [Finding("the object is on no tier", f"object {obj.name} ({store_name(obj)})")]
        found = [self.verify(obj, name) for name in sorted(places)]
        return [item for item in found if item is not None]

    def require(self, obj: StoredObject, tier: TierName) -> None:
        """Verifies, and stops where `verify` has a finding.

        Raises:
            IntegrityError: the object is absent or other bytes, named.
            Unavailable: the tier does not answer.
        """
        finding = self.verify(obj, tier)
        if finding is not None:
            raise _wrong(finding)

    def _bring_back(self, obj: StoredObject) -> None:
        if not self.cold.exists(store_name(obj)):
            raise _nowhere(obj)
        with self.hot.incoming(self._entropy(8).hex()) as temp:
            sha256 = hashlib.sha256()
            with self.cold.open(store_name(obj)) as source, disk_border(self.hot.root):
                size_bytes = write_durably(source, temp, sha256.update)
            finding = _compare(obj, "cold", size_bytes, Digest(sha256.digest()))
            if finding is not None:
                raise _wrong(finding)
            # Crash before this line: hot has nothing under the object's name, and the
            # next reader fetches again. Crash after it: the object is whole.
            self.hot.adopt(store_name(obj), temp)


def _compare(obj: StoredObject, tier: TierName, size_bytes: int, sha256: Digest) -> Finding | None:
    if size_bytes != obj.size_bytes:
        return Finding("the size is wrong", _where(obj, tier))
    if sha256 != obj.sha256:
        return Finding("the bytes are not those that were recorded", _where(obj, tier))
    return None


def _nowhere(obj: StoredObject) -> NotFound:
    return NotFound(f"object {obj.name} is on no tier", "restore the cold tier from its backup")


def _where(obj: StoredObject, tier: TierName) -> str:
    return f"object {obj.name} ({store_name(obj)}) on the {tier} tier"


def _wrong(finding: Finding) -> IntegrityError:
    return IntegrityError(
        f"{finding.where}: {finding.what}",
        "do not use it: restore it from a good copy and audit the tier",
    )
