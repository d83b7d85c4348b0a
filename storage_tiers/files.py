"""Files on their way between disks: copied, synced and compared.

What raises OSError here belongs inside `disk_border`, which turns it into our errors.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from lineage.durable import disk_error, sync_folder
from lineage.errors import Conflict, NotFound, Unavailable

_BLOCK_BYTES = 1 << 20
# Stored objects never change, so nobody needs leave to write them; DVC marks its own so too.
READ_ONLY = 0o444


@contextmanager
def disk_border(folder: Path) -> Iterator[None]:
    """Turns what the operating system refuses inside into an error naming `folder`.

    Raises:
        Unavailable: full, read-only, not mounted, not allowed or broken.
    """
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOENT:
            raise Unavailable(
                f"{folder}: no such folder or file", "make it, or mount the disk that holds it"
            ) from error
        raise disk_error(error, folder) from error


def write_durably(
    source: BinaryIO, path: Path, watch: Callable[[bytes], None] | None = None
) -> int:
    """Copies a stream into a new read-only file and syncs it; the folder is not synced.

    Args:
        watch: is shown every block on its way, such as a hasher's ``update``.

    Returns:
        How many bytes were written.

    Raises:
        FileExistsError: `path` exists; it is not touched.
        Conflict: the file is longer or shorter than what was written to it.
        OSError: the disk refused; what was written so far is left to the caller.
    """
    copied = 0
    with path.open("xb") as file:
        os.fchmod(file.fileno(), READ_ONLY)
        while block := source.read(_BLOCK_BYTES):
            if watch is not None:
                watch(block)
            file.write(block)
            copied += len(block)
        file.flush()
        os.fsync(file.fileno())
        if os.fstat(file.fileno()).st_size != copied:
            raise Conflict(f"{path.name}: another writer changed it while it was written")
    return copied


def land(source: BinaryIO, dest: Path) -> None:
    """Copies a stream to a new durable file; after an error there is none.

    Crash point: a kill leaves a part of the file, so `dest` should be a name that
    nobody reads before the copy is verified.

    Raises:
        Conflict: `dest` exists already; it is not touched.
        Unavailable: the disk refused.
    """
    with disk_border(dest.parent):
        try:
            write_durably(source, dest)
            sync_folder(dest.parent)
        except FileExistsError:
            raise Conflict(f"{dest}: exists already", "give a path that is free") from None
        except (OSError, Conflict):
            dest.unlink(missing_ok=True)
            raise


def require_file(path: Path) -> None:
    """Stops unless `path` is a file.

    Raises:
        NotFound: nothing is there, or a folder.
        Unavailable: the disk refused to say.
    """
    with disk_border(path.parent):
        if not path.is_file():
            raise NotFound(f"{path}: no such file")


def same_bytes(first: Path, second: Path) -> bool:
    """Whether two files hold the same bytes; all of them are read.

    Raises:
        OSError: one is missing or no file, or the disk refused.
    """
    with first.open("rb") as left, second.open("rb") as right:
        while block := left.read(_BLOCK_BYTES):
            if right.read(_BLOCK_BYTES) != block:
                return False
        return not right.read(1)


def make_folders(path: Path, root: Path) -> None:
    """Makes `path` below `root` durably; `root` itself must already exist.

    Raises:
        OSError: `root` is missing or the disk refused.
    """
    if path == root or path.is_dir():
        return
    make_folders(path.parent, root)
    path.mkdir(exist_ok=True)
    sync_folder(path.parent)
