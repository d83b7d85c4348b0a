"""The files of a source: what its path names, in sorted order, each checked.

Hidden files and folders are passed over. A symbolic link may point anywhere inside
the workspace; one that leaves it or loops is refused, since a glob that walks out
of its folder reads what nobody meant to train on.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from lineage.errors import ConfigError, NotFound, Unavailable
from pipelines.ingest.places.endings import SEEKABLE, archive_of, endings_of, is_of
from pipelines.spec.source import SourceSpec

_MAGIC = frozenset("*?[")
_ANY_DEPTH = "**"


@dataclass(frozen=True, slots=True, order=True)
class SourceFile:
    """One file of a source.

    Attributes:
        path: posix path relative to the workspace's root, or absolute where outside it; of
            an object ``s3://``.
        size_bytes: its size when it was listed.
        state: of an object in a store, what changes when it is replaced; else empty.
    """

    path: str
    size_bytes: int
    state: str = ""


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turns the system's errors about a file or folder into ours.

    Args:
        what: names source and file in messages.

    Raises:
        NotFound: it does not exist.
        ConfigError: no permission, or a loop of symbolic links.
        Unavailable: the disk does not answer.
    """
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(f"{what}: no such file or folder", "check the path in the spec") from None
    except PermissionError:
        raise ConfigError(f"{what}: may not be read", "give this user the right to read") from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ConfigError(f"{what}: a loop of symbolic links", "remove the link") from None
        reason = error.strerror or type(error).__name__
        raise Unavailable(f"{what}: cannot be read: {reason}") from None


def list_files(source: SourceSpec, root: Path) -> list[SourceFile]:
    """All files of a source, sorted by path.

    Args:
        root: the workspace's root.

    Raises:
        NotFound: nothing matches, or a link points nowhere.
        ConfigError: a folder where a file was meant, a link that loops or leaves the
            workspace, a name that is not UTF-8, no permission.
        Unavailable: the disk does not answer.
    """
    what = f"source {source.name}: {source.path}"
    path = Path(os.path.normpath(root / source.path))
    with reading(what):
        if os.path.lexists(path):
            found = _below(source, path) if path.is_dir() else [path]
        elif _MAGIC.intersection(source.path):
            found = _glob(path)
        else:
            raise NotFound(f"{what}: no such file or folder", "check the path in the spec")
    if not found:
        raise NotFound(f"{what}: nothing matches", f"no {source.format} file lies there")
    bounds = _Bounds(root, path)
    return sorted(_checked(source, file, bounds) for file in sorted(set(found), key=str))


def in_folder(source: SourceSpec, name: str) -> bool:
    """Whether a file of a folder that a source names is one of its files, by its ending."""
    if is_of(name, endings_of(source.format)):
        return True
    return source.format not in SEEKABLE and bool(archive_of(name))


def _below(source: SourceSpec, folder: Path) -> list[Path]:
    found = _expand(folder, (_ANY_DEPTH,), ())
    return [file for file in found if in_folder(source, file.name)]


def _glob(pattern: Path) -> list[Path]:
    parts = pattern.parts
    fixed = next(i for i, part in enumerate(parts) if _MAGIC.intersection(part))
    return list(_expand(Path(*parts[:fixed]), parts[fixed:], ()))


def _expand(
    folder: Path, parts: tuple[str, ...], above: tuple[tuple[int, int], ...]
) -> Iterator[Path]:
    """Paths below a folder that match the parts of a pattern; a last `**` means files."""
    part, rest = parts[0], parts[1:]
    here = folder.stat()
    identity = (here.st_dev, here.st_ino)
    # The same folder under another name on the way down: a link to a parent would be
    # walked until the system gives up, and two such links nearly for ever.
    if identity in above:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(folder))
    if part == _ANY_DEPTH and rest:
        yield from _expand(folder, rest, ())
    for entry in folder.iterdir():
        if entry.name.startswith(".") and not part.startswith("."):
            continue
        if part != _ANY_DEPTH:
            yield from _expand_entry(entry, part, rest)
        elif entry.is_dir():
            yield from _expand(entry, parts, (*above, identity))
        elif not rest:
            yield entry


def _expand_entry(entry: Path, part: str, rest: tuple[str, ...]) -> Iterator[Path]:
    if not fnmatchcase(entry.name, part):
        return
    if not rest:
        yield entry
    elif entry.is_dir():
        yield from _expand(entry, rest, ())


class _Bounds:
    """Where links may lead: inside the workspace, or inside the folder named outside it."""

    def __init__(self, root: Path, path: Path) -> None:
        self._root = Path(os.path.normpath(root))
        self._bound = Path(os.path.realpath(self._root))
        if not path.is_relative_to(self._root):
            while any(_MAGIC.intersection(part) for part in path.parts) and not path.exists():
                path = path.parent
            named = Path(os.path.realpath(path))
            self._bound = named if named.is_dir() else named.parent
        self._folders: dict[Path, bool] = {}

    def hold(self, file: Path) -> bool:
        if file.is_symlink():
            return self._real(file)
        if file.parent not in self._folders:
            self._folders[file.parent] = self._real(file.parent)
        return self._folders[file.parent]

    def name(self, file: Path) -> str:
        # As strings: a million paths cost pathlib a minute.
        return file.as_posix().removeprefix(f"{self._root.as_posix()}/")

    def _real(self, path: Path) -> bool:
        return Path(os.path.realpath(path)).is_relative_to(self._bound)


def _checked(source: SourceSpec, file: Path, bounds: _Bounds) -> SourceFile:
    name = bounds.name(file)
    what = f"source {source.name}: {name!r}"
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        raise ConfigError(f"{what}: the name is not UTF-8", "rename it") from None
    with reading(what):
        status = file.stat()
    if stat.S_ISDIR(status.st_mode):
        hint = "name the folder itself, or a pattern that matches its files"
        raise ConfigError(f"{what}: a folder where a file was meant", hint)
    if not stat.S_ISREG(status.st_mode):
        raise ConfigError(f"{what}: neither a file nor a folder", "sources are ordinary files")
    if not bounds.hold(file):
        hint = "copy it into the workspace, or name its absolute path as the source's path"
        raise ConfigError(f"{what}: a symbolic link that leaves the workspace", hint)
    return SourceFile(name, status.st_size)
