"""Durable writes: bytes, fsync, rename, fsync of the folder."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from lineage.errors import ShardlineError, Unavailable


def replace_file(path: Path, data: bytes, mode: int = 0o644) -> None:
    """Writes a whole file so that a reader sees the old bytes or the new ones.

    A crash before the rename leaves ``.NAME.part`` behind, which the next write replaces.

    Raises:
        Unavailable: the disk is full or the folder cannot be written.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.rename(path)
        sync_folder(path.parent)
    except OSError as error:
        raise disk_error(error, path.parent) from None


def sync_file(path: Path) -> None:
    """Makes the bytes of a written file durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(path: Path) -> None:
    """Makes new names in a folder durable."""
    sync_file(path)


def disk_error(error: OSError, where: Path) -> ShardlineError:
    """The one clear error for a disk that does not take bytes."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Unavailable(f"{where}: the disk is full", "free room there, then run it again")
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return Unavailable(f"{where}: cannot be written", "check its mount and its permissions")
    return Unavailable(f"{where}: {error.strerror or error}", "check the disk, then run it again")
