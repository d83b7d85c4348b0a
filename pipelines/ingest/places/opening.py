"""Opening the files of a source, wherever they rest: asked here, answered by who knows the place.

Local files are answered here. Object stores need a network, which this room does not
know: whoever plans or reads a source hands in who answers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import pyarrow as pa

from lineage.errors import Conflict
from pipelines.ingest.places.files import SourceFile, list_files, reading
from pipelines.spec.source import SourceSpec


class OpenFile(Protocol):
    """A file that is open for reading at any place.

    Attributes:
        size_bytes: its size when it was opened.
    """

    size_bytes: int

    def read_at(self, start: int, length: int) -> bytes:
        """Bytes from a place on: as many as asked for, fewer only at the end of the file.

        Raises:
            OSError: the disk does not answer.
            Conflict, Unavailable: an object was replaced, or its store does not answer.
        """
        ...

    def close(self) -> None:
        """Gives back what is held; more than once is fine."""
        ...


class SourceFiles(Protocol):
    """Who lists and opens the files of a source."""

    def list(self, source: SourceSpec) -> list[SourceFile]:
        """All files of a source, sorted by path.

        Raises:
            NotFound: nothing matches.
            ConfigError: the path names something that is no readable file.
            AccessDenied: an object store refuses.
            Unavailable: the place does not answer.
        """
        ...

    def open(self, path: str, state: str = "") -> OpenFile:
        """Opens one of them.

        Args:
            path: as it was listed.
            state: likewise; a file in another state is refused, now or when it is read.

        Raises:
            OSError: the system refuses a local file.
            NotFound, AccessDenied, Unavailable: an object store does.
        """
        ...


class LocalFiles:
    """Files of this machine; see `SourceFiles`.

    Args:
        root: the workspace's root, which paths are relative to.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def list(self, source: SourceSpec) -> list[SourceFile]:
        return list_files(source, self._root)

    def open(self, path: str, state: str = "") -> LocalFile:
        return LocalFile(self._root / path)


class LocalFile:
    """One open local file; see `OpenFile`. A context manager.

    Raises:
        OSError: it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.size_bytes = os.fstat(self._descriptor).st_size

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def read_at(self, start: int, length: int) -> bytes:
        data = os.pread(self._descriptor, length, start)
        # A signal or a very long read may give less than there is.
        while data and len(data) < length:
            more = os.pread(self._descriptor, length - len(data), start + len(data))
            if not more:
                break
            data += more
        return data

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class Opener:
    """Keeps the file that was opened last: the members of an archive are read one by one.

    A context manager.
    """

    def __init__(self, source: SourceSpec, files: SourceFiles) -> None:
        self._source, self._files = source, files
        self._name = ("", "")
        self._file: OpenFile | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    @contextmanager
    def open(self, path: str, state: str = "") -> Iterator[OpenFile]:
        """Opens a file, and turns the system's errors into ours while it is used.

        Raises:
            NotFound, ConfigError, AccessDenied, Unavailable: it is gone, or may not or
                cannot be read.
        """
        with reading(f"source {self._source.name}: {path!r}"):
            if self._file is None or self._name != (path, state):
                self._close()
                self._file = self._files.open(path, state)
                self._name = (path, state)
            yield self._file

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file, self._name = None, ("", "")


def blocks_of(file: OpenFile, start: int, end: int, size: int = 1 << 20) -> Iterator[bytes]:
    """The bytes of a range in blocks.

    Raises:
        Conflict: the file ends before the range does.
    """
    while start < end:
        block = file.read_at(start, min(size, end - start))
        if not block:
            raise Conflict("a source file became shorter while it was read", "build again")
        start += len(block)
        yield block


def native(file: OpenFile) -> pa.NativeFile:
    """An open file as Arrow reads it, which closing does not close."""
    return pa.PythonFile(_Seekable(file), mode="r")


class _Seekable:
    """What Arrow asks of a file of Python."""

    def __init__(self, file: OpenFile) -> None:
        self._file, self._at = file, 0
        self.closed = False

    def read(self, size: int | None = None) -> bytes:
        left = max(self._file.size_bytes - self._at, 0)
        wanted = left if size is None or size < 0 else min(size, left)
        data = self._file.read_at(self._at, wanted) if wanted else b""
        self._at += len(data)
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._file.size_bytes}
        self._at = base[whence] + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def size(self) -> int:
        return self._file.size_bytes

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True
