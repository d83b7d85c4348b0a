"""The store: one place of immutable, named objects.

`tests/contracts/test_store.py` holds every implementation to what is said here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from lineage.errors import ConfigError

# Half-written files lie here inside a local store; no object may be called so.
INCOMING = ".incoming"
_COMPONENT_BYTES = 255


class Store(Protocol):
    """Named objects that are written once and never changed.

    Durability: when `put` or `delete` returns, the change survives a power cut, as far
    as the store survives one at all. A name is visible only with all its bytes.
    Retries: none inside; Unavailable may be tried again by the caller. Every method may
    be repeated safely. Concurrency: safe over threads and processes; of two writers of
    one name with different bytes exactly one wins, the other gets Conflict.
    Every method raises ConfigError for a name that `checked_name` refuses and
    Unavailable when the store does not answer; an absent store is never an empty one.
    """

    def put(self, name: str, source: Path) -> None:
        """Stores a file's bytes under a new name; the same bytes there already are fine.

        Raises:
            NotFound: there is no file `source`.
            Conflict: other bytes have this name, or `source` changed meanwhile.
            Unavailable: the store is full, read-only or away; the name is not visible.
            OutcomeUnknown: the name is visible but may not last: put it again.
        """
        ...

    def fetch(self, name: str, dest: Path) -> None:
        """Copies an object to a new, synced, read-only file; on any error there is none.

        The bytes are not verified: the caller MUST compare their digest.

        Raises:
            NotFound: no such object.
            Conflict: `dest` exists already; it is not touched.
            Unavailable: the store or the folder of `dest` refused.
        """
        ...

    def open(self, name: str) -> BinaryIO:
        """The object as a binary, seekable file, which the caller closes.

        A disk that breaks while the file is read may show as OSError.

        Raises:
            NotFound: no such object.
        """
        ...

    def exists(self, name: str) -> bool:
        """Whether the object is there; says nothing about its bytes."""
        ...

    def size(self, name: str) -> int:
        """The object's size in bytes.

        Raises:
            NotFound: no such object.
        """
        ...

    def delete(self, name: str) -> None:
        """Removes an object; one that is not there is already removed.

        Raises:
            Unavailable: the store refused; the object may still be there.
        """
        ...

    def names(self, prefix: str = "") -> Iterator[str]:
        """The names that start with `prefix`, sorted by code point."""
        ...


def checked_name(name: str) -> str:
    """Returns `name` if it is a relative POSIX path that stays inside any folder.

    Raises:
        ConfigError: empty, absolute, with NUL, ``.``, ``..``, an empty or too long
            component, not UTF-8, or below the folder for half-written files.
    """
    parts = name.split("/")
    if not all(_is_component(part) for part in parts) or parts[0] == INCOMING:
        raise ConfigError(
            f"not a name for an object: {name[:120]!r}",
            "a name is a relative path with forward slashes and without '..'",
        )
    return name


def checked_prefix(prefix: str) -> str:
    """Returns `prefix` if some allowed name could start with it.

    Raises:
        ConfigError: no allowed name starts so.
    """
    folder, slash, tail = prefix.rpartition("/")
    if slash:
        checked_name(folder)
    if "\0" in tail:
        raise ConfigError(f"not a prefix of names: {prefix[:120]!r}", "leave out the NUL")
    return prefix


def _is_component(part: str) -> bool:
    if part in ("", ".", "..") or "\0" in part:
        return False
    try:
        return len(part.encode("utf-8")) <= _COMPONENT_BYTES
    except UnicodeEncodeError:
        return False
